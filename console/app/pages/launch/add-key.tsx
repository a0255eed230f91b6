/** Adds a key without leaving the form: pasted or from a file. */
import { Button, FileButton, Group, Stack, Textarea, TextInput } from '@mantine/core';
import { type KeyboardEvent, useState } from 'react';
import { useChange } from '../../api/change.ts';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { keyNameIn, publicKeyIn } from './public-key.ts';
import { nameProblem } from './rules.ts';

export const AddKey = ({ onAdded, onClose }: Readonly<{ onAdded(id: string): void; onClose(): void }>) => {
  const [text, setText] = useState('');
  const [typedName, setTypedName] = useState<string | null>(null);
  const change = useChange('sshKeyCreate');
  const found = publicKeyIn(text);
  const name = typedName ?? (found.key === null ? '' : keyNameIn(found.key));
  const problem = found.problem ?? nameProblem(name);
  const add = async (): Promise<void> => {
    if (found.key === null || problem !== null) return;
    const answer = await change.run({ body: { name, public_key: found.key } });
    if (answer !== null) onAdded(answer.data.id);
  };
  /** It stands inside the form of the launch, which Enter would send. */
  const onEnter = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    void add();
  };
  return (
    <Stack gap="sm" className="panel" data-tone="idle" role="group" aria-label="Add an SSH key">
      <div className="panel-body">
        <Textarea
          label="Public key"
          description="The content of ~/.ssh/id_ed25519.pub. Without one: ssh-keygen -t ed25519"
          placeholder="ssh-ed25519 AAAA… you@laptop"
          value={text}
          error={text === '' ? undefined : found.problem}
          autosize
          minRows={2}
          maxRows={6}
          spellCheck={false}
          autoFocus
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <FileButton
          accept=".pub,text/plain"
          onChange={(file) => {
            void file?.text().then(setText);
          }}
        >
          {(props) => (
            <Button {...props} variant="subtle" size="xs" mt={4}>
              Take it from a file
            </Button>
          )}
        </FileButton>
        <TextInput
          label="Name of the key"
          value={name}
          error={name === '' ? undefined : nameProblem(name)}
          autoComplete="off"
          onKeyDown={onEnter}
          onChange={(event) => setTypedName(event.currentTarget.value)}
        />
      </div>
      {change.error !== null && <ErrorPanel error={change.error} />}
      <Group gap="xs">
        <ActionButton onClick={() => void add()} loading={change.isRunning} disabledReason={problem}>
          Add key
        </ActionButton>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
      </Group>
      {/* Quoted, the shell would not find the home directory. */}
      <CliCommand command={`${command(['ssh-key', 'add', name || 'laptop'])} ~/.ssh/id_ed25519.pub`} />
    </Stack>
  );
};
