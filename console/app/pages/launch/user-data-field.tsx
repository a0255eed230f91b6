/** User data for the first boot of a slice. It is not part of the address, because it may hold secrets. */
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
    <Section title="User data">
      {!isSlice ? (
        <span className="muted">
          User data applies to slices only. Bare metal keeps the operating system of the node.
        </span>
      ) : isOpen || value !== '' ? (
        <Stack gap={4}>
          <Textarea
            label="User data"
            description="A cloud-config or script for the first boot. Not part of the page address."
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
                  Choose file
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
          <span className="muted">Optional cloud-config or script for the first boot.</span>
        </Group>
      )}
    </Section>
  );
};
