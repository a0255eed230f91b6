/** Name, tags and protection. */
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
          description="Lower-case letters, digits and hyphens. Also the host name. Unique among live allocations of the project."
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
              ? 'Your own labels, for example team=vision, run=42'
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
          label="Protected"
          description="Blocks release until unprotected, even after the maximum duration."
          checked={form.isProtected}
          onChange={(event) => update({ protected: event.currentTarget.checked ? '1' : '' })}
        />
      </Stack>
    </Section>
  );
};
