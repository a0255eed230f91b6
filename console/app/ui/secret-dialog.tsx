/**
 * Something that is shown once: the platform keeps only its hash. It closes by saying that it was saved and in no other
 * way, and is kept nowhere: not in the address, not in the browser's storage.
 */
import { Checkbox, Group, Modal, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ActionButton } from './action-button.tsx';
import { CopyBlock } from './copy.tsx';

export type Secret = Readonly<{
  title: string;
  /** What the secret is called in a sentence: `client secret`. */
  name: string;
  value: string;
  /** What goes with it and is no secret. */
  facts?: readonly (readonly [name: string, value: string])[];
  /** How it is used. */
  explanation: ReactNode;
}>;

export const SecretDialog = ({ secret, onClose }: Readonly<{ secret: Secret | null; onClose(): void }>) => (
  <Modal
    opened={secret !== null}
    onClose={onClose}
    title={<Text fw={600}>{secret?.title}</Text>}
    size="lg"
    withCloseButton={false}
    closeOnEscape={false}
    closeOnClickOutside={false}
  >
    {secret !== null && <Body secret={secret} onClose={onClose} />}
  </Modal>
);

const Body = ({ secret, onClose }: Readonly<{ secret: Secret; onClose(): void }>) => {
  const [isSaved, setSaved] = useState(false);
  return (
    <Stack gap="sm">
      <div className="panel" data-tone="warn" role="alert">
        <span className="panel-body">
          This {secret.name} is shown once. Nobody can show it again: if it is lost, make a new one.
        </span>
      </div>
      <div className="secret-block">
        <CopyBlock text={secret.value} label={secret.name} />
      </div>
      {secret.facts?.map(([name, value]) => (
        <div key={name}>
          <Text size="sm" className="muted">
            {name}
          </Text>
          <CopyBlock text={value} label={name} />
        </div>
      ))}
      <div>{secret.explanation}</div>
      <Checkbox
        label="I have saved it"
        data-autofocus
        checked={isSaved}
        onChange={(event) => setSaved(event.currentTarget.checked)}
      />
      <Group justify="flex-end">
        <ActionButton disabledReason={isSaved ? null : 'Say first that you have saved it.'} onClick={onClose}>
          Done
        </ActionButton>
      </Group>
    </Stack>
  );
};
