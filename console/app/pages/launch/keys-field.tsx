/** SSH keys with access: any number of the user's keys, or none. */
import { Button, Checkbox, Stack } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { Section } from '../../ui/page.tsx';
import { AddKey } from './add-key.tsx';
import type { FieldProps } from './fields.ts';
import { NO_KEYS } from './form.ts';

export const KeysField = ({ form, catalog, update }: FieldProps) => {
  const [isAdding, setAdding] = useState(false);
  const chosen = form.keys.map(({ id }) => id);
  const choose = (ids: readonly string[]): void => update({ keys: ids.length === 0 ? NO_KEYS : ids.join(',') });
  return (
    <Section
      title="SSH keys"
      actions={
        !isAdding && (
          <Button
            variant="default"
            size="xs"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() => setAdding(true)}
          >
            Add key
          </Button>
        )
      }
    >
      <Stack gap="sm">
        {catalog.keys.length > 0 && (
          <Checkbox.Group label="Authorized keys" value={chosen} onChange={choose}>
            <Stack gap={8} mt={6}>
              {catalog.keys.map((key) => (
                <Checkbox
                  key={key.id}
                  value={key.id}
                  label={key.name}
                  description={`${key.algorithm} ${key.fingerprint}`}
                  styles={{ description: { overflowWrap: 'anywhere' } }}
                />
              ))}
            </Stack>
          </Checkbox.Group>
        )}
        {chosen.length === 0 && (
          <span className="muted">
            {catalog.keys.length === 0 ? 'You have no SSH key. ' : 'No key selected. '}
            Browser terminal and gpuaas terminal work without a key. You can grant access to a key later.
          </span>
        )}
        {isAdding && (
          <AddKey
            onClose={() => setAdding(false)}
            onAdded={(id) => {
              setAdding(false);
              choose([...chosen, id]);
            }}
          />
        )}
      </Stack>
    </Section>
  );
};
