/** The dialog that adds an SSH key. */
import { DialogForm } from '../../ui/form-dialog.tsx';
import { SshKeyFields, useSshKeyForm } from '../ssh-keys/ssh-key-form.tsx';

export const AddKeyForm = ({ onDone }: Readonly<{ onDone(): void }>) => {
  const form = useSshKeyForm(onDone);
  return (
    <DialogForm
      submitLabel="Add key"
      missing={form.problem}
      isRunning={form.isRunning}
      error={form.error}
      command={form.command}
      onSubmit={form.add}
      onCancel={onDone}
    >
      <SshKeyFields form={form} />
    </DialogForm>
  );
};
