/** Changes the role of one member. */
import type { GpuaasError } from '@gpuaas/sdk';
import { useForm } from '@mantine/form';
import { DialogForm } from '../../ui/form-dialog.tsx';
import { RoleChoice, type RoleOption } from './role-choice.tsx';

export const RoleForm = <Role extends string>({
  current,
  roles,
  change,
  command,
  onSave,
  onCancel,
}: Readonly<{
  current: Role;
  roles: readonly RoleOption<Role>[];
  change: Readonly<{ isRunning: boolean; error: GpuaasError | null }>;
  command(role: Role): string;
  onSave(role: Role): Promise<void>;
  onCancel(): void;
}>) => {
  const form = useForm<{ role: Role }>({ initialValues: { role: current } });
  const { role } = form.getValues();
  return (
    <DialogForm
      submitLabel="Save"
      missing={role === current ? 'Choose a different role.' : null}
      isRunning={change.isRunning}
      error={change.error}
      command={command(role)}
      onSubmit={() => onSave(role)}
      onCancel={onCancel}
    >
      <RoleChoice<Role> roles={roles} value={role} onChange={(next) => form.setValues({ role: next })} />
      <p className="muted" style={{ margin: 0 }}>
        Takes effect within 60 seconds.
      </p>
    </DialogForm>
  );
};
