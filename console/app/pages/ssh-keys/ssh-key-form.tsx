/**
 * The fields of a new SSH key, for the dialog in Settings and for the launch form. A key is pasted or read from a file in
 * the page. A private key is refused and removed from the field before anything is sent.
 */
import { readSshPublicKey, SSH_RSA_BITS_MIN, sshKeyNameFrom } from '@gpuaas/sdk';
import { Button, FileButton, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { KeyboardEvent } from 'react';
import { useChange } from '../../api/change.ts';
import { command } from '../../format/shell.ts';
import { NAME_RULE, nameProblem } from '../../rules/name.ts';

/** Larger than any public key; a larger file is not read. */
const FILE_BYTES_MAX = 64 * 1024;

export const useSshKeyForm = (onAdded: (id: string) => void) => {
  const create = useChange('sshKeyCreate');
  const form = useForm<{ text: string; typedName: string | null; fileProblem: string | null }>({
    initialValues: { text: '', typedName: null, fileProblem: null },
  });
  const { text, typedName, fileProblem } = form.getValues();
  const reading = readSshPublicKey(text);
  const name = typedName ?? (reading.problem === null ? sshKeyNameFrom(reading.comment) : '');
  const problem = reading.problem ?? nameProblem(name);
  const setText = (next: string): void => {
    const read = readSshPublicKey(next);
    const isPrivate = read.problem !== null && read.is_private;
    form.setValues({ text: isPrivate ? '' : next, fileProblem: isPrivate ? read.problem : null });
  };
  const readFile = async (file: File | null): Promise<void> => {
    if (file === null) return;
    if (file.size > FILE_BYTES_MAX)
      form.setFieldValue('fileProblem', `${file.name} is too large to be a public key file.`);
    else setText(await file.text());
  };
  const add = async (): Promise<void> => {
    if (reading.problem !== null || problem !== null) return;
    const answer = await create.run({ body: { name, public_key: reading.public_key } });
    if (answer !== null) onAdded(answer.data.id);
  };
  return {
    text,
    name,
    problem,
    keyProblem: fileProblem ?? (text === '' ? null : reading.problem),
    nameProblem: name === '' ? null : nameProblem(name),
    isRunning: create.isRunning,
    error: create.error,
    // The shell expands ~ only without quotes.
    command: `${command(['ssh-key', 'add', name || 'NAME'])} ~/.ssh/id_ed25519.pub`,
    setText,
    setName: (next: string) => form.setFieldValue('typedName', next),
    readFile,
    add,
  };
};

export const SshKeyFields = ({
  form,
  onNameKeyDown,
}: Readonly<{ form: ReturnType<typeof useSshKeyForm>; onNameKeyDown?: (event: KeyboardEvent) => void }>) => (
  <>
    <Textarea
      label="Public key"
      description={`One line in OpenSSH format: Ed25519, ECDSA, security key, or RSA with at least ${SSH_RSA_BITS_MIN} bits. To create one: ssh-keygen -t ed25519`}
      placeholder="ssh-ed25519 AAAA… you@laptop"
      value={form.text}
      error={form.keyProblem}
      autosize
      minRows={3}
      maxRows={8}
      spellCheck={false}
      autoComplete="off"
      data-autofocus
      autoFocus
      onChange={(event) => form.setText(event.currentTarget.value)}
    />
    <FileButton onChange={(file) => void form.readFile(file)} accept=".pub,text/plain">
      {(props) => (
        <div>
          <Button {...props} variant="default" size="xs">
            Choose file
          </Button>
        </div>
      )}
    </FileButton>
    <TextInput
      label="Key name"
      description={NAME_RULE}
      value={form.name}
      error={form.nameProblem}
      maxLength={63}
      autoComplete="off"
      {...(onNameKeyDown === undefined ? {} : { onKeyDown: onNameKeyDown })}
      onChange={(event) => form.setName(event.currentTarget.value)}
    />
  </>
);
