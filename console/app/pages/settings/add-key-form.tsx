import { Button, FileButton, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { command } from '../../format/shell.ts';
import { DialogForm } from '../../ui/form-dialog.tsx';
import { NAME_RULE, nameRefusal } from '../access/names.ts';
import { keyNameFrom, readPublicKey } from './public-key.ts';

/** No public key is longer; a file that is, is not read. */
const FILE_MAX = 64 * 1024;

/** A key by paste or from its file, which is read in the page. A private key is refused before anything is sent. */
export const AddKeyForm = ({ onDone }: Readonly<{ onDone(): void }>) => {
  const create = useChange('sshKeyCreate');
  const [text, setText] = useState('');
  const [typed, setTyped] = useState<string | null>(null);
  const [fileRefusal, setFileRefusal] = useState<string | null>(null);
  const { key, comment, refusal } = readPublicKey(text);
  const name = typed ?? keyNameFrom(comment);
  const take = (next: string) => {
    setFileRefusal(null);
    // What turns out to be a private key is not even kept in the field.
    setText(next.includes('PRIVATE KEY') ? '' : next);
    if (next.includes('PRIVATE KEY')) setFileRefusal(readPublicKey(next).refusal);
  };
  const pick = async (file: File | null) => {
    if (file === null) return;
    if (file.size > FILE_MAX) setFileRefusal(`${file.name} is too large to be a public key.`);
    else take(await file.text());
  };
  const submit = async () => {
    const answer = await create.run({ body: { name, public_key: key } });
    if (answer !== null) onDone();
  };
  return (
    <DialogForm
      submitLabel="Add key"
      missing={refusal ?? nameRefusal(name)}
      isRunning={create.isRunning}
      error={create.error}
      command={`${command(['ssh-key', 'add', name || 'NAME'])} ~/.ssh/id_ed25519.pub`}
      onSubmit={submit}
      onCancel={onDone}
    >
      <Textarea
        label="Public key"
        description="One line in OpenSSH form. Ed25519, ECDSA, RSA of 3072 bits at least, or a security key."
        placeholder="ssh-ed25519 AAAA… you@laptop"
        value={text}
        autosize
        minRows={3}
        maxRows={8}
        spellCheck={false}
        autoComplete="off"
        data-autofocus
        error={fileRefusal ?? (text === '' ? null : refusal)}
        onChange={(event) => take(event.currentTarget.value)}
      />
      <FileButton onChange={(file) => void pick(file)} accept=".pub,text/plain">
        {(props) => (
          <div>
            <Button {...props} variant="default" size="xs">
              Choose a file
            </Button>
          </div>
        )}
      </FileButton>
      <TextInput
        label="Name"
        description={`To tell it from your others. ${NAME_RULE}`}
        value={name}
        maxLength={63}
        autoComplete="off"
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </DialogForm>
  );
};
