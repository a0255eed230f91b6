/** Its name and tags, and whether a release has to be meant twice. */
import { Checkbox, Stack, TextInput } from '@mantine/core';
import { Section } from '../../ui/page.tsx';
import type { FieldProps } from './fields.ts';
import { parseTags } from './tags.ts';

export const DetailsFields = ({ form, problems, update }: FieldProps) => {
  const { tags } = parseTags(form.tagsText);
  return (
    <Section title="Name and tags">
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="Lower-case letters, digits and hyphens; also its host name. Unique among what lives in the project."
          value={form.name}
          error={problems.name}
          maxLength={80}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => update({ name: event.currentTarget.value })}
        />
        <TextInput
          label="Tags"
          description={
            Object.keys(tags).length === 0
              ? 'Labels of your own, such as team=vision, run=42'
              : Object.entries(tags)
                  .map(([key, value]) => `${key}: ${value === '' ? 'empty' : value}`)
                  .join(' · ')
          }
          value={form.tagsText}
          error={problems.tags}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => update({ tags: event.currentTarget.value })}
        />
        <Checkbox
          label="Protect it"
          description="It is released by nobody, also not at the end of its lifetime, until somebody takes the protection off."
          checked={form.isProtected}
          onChange={(event) => update({ protected: event.currentTarget.checked ? '1' : '' })}
        />
      </Stack>
    </Section>
  );
};
