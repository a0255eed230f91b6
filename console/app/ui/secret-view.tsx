/**
 * A value that is shown once: the server stores only its hash. It closes only after the user confirms that it was
 * saved, and is kept neither in the URL nor in the browser's storage.
 */
import { Checkbox, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { ActionButton } from './action-button.tsx';
import { CopyBlock } from './copy.tsx';

export type Secret = Readonly<{
  title: string;
  /** The name of the secret in a sentence: `client secret`. */
  name: string;
  value: string;
  /** Related values. */
  facts?: readonly (readonly [name: string, value: string])[];
  /** How it is used. */
  explanation: ReactNode;
}>;

export const SecretView = ({ secret, onSaved }: Readonly<{ secret: Secret; onSaved(): void }>) => {
  const [isSaved, setSaved] = useState(false);
  const top = useRef<HTMLDivElement>(null);
  // The button that created it is gone; the focus moves to the text that follows.
  useEffect(() => top.current?.focus(), []);
  return (
    <Stack gap="sm">
      <div className="panel" data-tone="warn" role="alert" ref={top} tabIndex={-1}>
        <span className="panel-body">This {secret.name} is shown only once. If you lose it, create a new one.</span>
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
      <Checkbox label="I saved it" checked={isSaved} onChange={(event) => setSaved(event.currentTarget.checked)} />
      <Group justify="flex-end">
        <ActionButton disabledReason={isSaved ? null : 'Confirm that you saved it.'} onClick={onSaved}>
          Done
        </ActionButton>
      </Group>
    </Stack>
  );
};
