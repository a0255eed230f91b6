/** What a slice does at its first start. It stays out of the address, which is kept and sent around. */
import { USER_DATA_BYTES_MAX } from '@gpuaas/sdk';
import { Button, FileButton, Group, Stack, Textarea } from '@mantine/core';
import { useState } from 'react';
import { bytes } from '../../format/size.ts';
import { Section } from '../../ui/page.tsx';
import { userDataSize } from './rules.ts';

export const UserDataField = ({
  value,
  problem,
  isSlice,
  onChange,
}: Readonly<{ value: string; problem: string | undefined; isSlice: boolean; onChange(text: string): void }>) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <Section title="First start">
      {!isSlice ? (
        <span className="muted">User data is for slices: a whole node keeps the system its operator installed.</span>
      ) : isOpen || value !== '' ? (
        <Stack gap={4}>
          <Textarea
            label="User data"
            description="A cloud-config or a script for the first start. It is not part of this page’s address."
            placeholder={'#cloud-config\npackages: [htop]'}
            className="mono"
            value={value}
            error={problem}
            autosize
            minRows={5}
            maxRows={20}
            spellCheck={false}
            onChange={(event) => onChange(event.currentTarget.value)}
          />
          <Group justify="space-between" gap="xs">
            <FileButton
              onChange={(file) => {
                void file?.text().then(onChange);
              }}
            >
              {(props) => (
                <Button {...props} variant="subtle" size="xs">
                  Take it from a file
                </Button>
              )}
            </FileButton>
            <span className="muted tabular">
              {bytes(userDataSize(value))} of {bytes(USER_DATA_BYTES_MAX)}
            </span>
          </Group>
        </Stack>
      ) : (
        <Group gap="sm">
          <Button variant="default" size="xs" onClick={() => setOpen(true)}>
            Add user data
          </Button>
          <span className="muted">A cloud-config or a script, if it shall set itself up.</span>
        </Group>
      )}
    </Section>
  );
};
