/** Reinstalls a slice. The boot disk is wiped, so the name has to be typed. */

import type { Allocation } from '@gpuaas/sdk';
import { List, Select, Stack, Switch } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useChange } from '../../api/change.ts';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { useProjectFlags } from './hooks.ts';

const SAME = '';

export const ReinstallDialog = ({
  allocation: { name, project_id, id, sku_name, image_name },
  onClose,
}: Readonly<{ allocation: Allocation; onClose(): void }>) => {
  const change = useChange('allocationReinstall');
  const images = useAll('osImageList', { query: { sku_name } });
  const form = useForm({ initialValues: { image: SAME, dropsUserData: false } });
  const { image, dropsUserData } = form.getValues();
  const flags = useProjectFlags(project_id);
  const body = {
    ...(image === SAME ? {} : { image_name: image }),
    ...(dropsUserData ? { user_data: null } : {}),
  };
  const choices = [
    { value: SAME, label: `Current version${image_name === null ? '' : ` (${image_name})`}` },
    ...(images.data ?? []).map((one) => ({
      value: one.name,
      label: one.enabled ? `${one.display_name}, newest version` : `${one.display_name} (disabled)`,
      disabled: !one.enabled,
    })),
  ];
  return (
    <ConfirmDialog
      title={`Reinstall ${name}`}
      isOpen
      onClose={onClose}
      confirmLabel="Wipe boot disk and reinstall"
      isDestructive
      typeToConfirm={name}
      isRunning={change.isRunning}
      error={change.error}
      command={() =>
        command(
          ['allocation', 'reinstall', name],
          [['image', image === SAME ? null : image], ['no-user-data', dropsUserData], ['yes', true], ...flags],
        )
      }
      onConfirm={async () => (await change.run({ params: { project_id, allocation_id: id }, body })) !== null}
    >
      <Stack gap="sm">
        <List size="sm" spacing={4}>
          <List.Item>The boot disk (the disk of the first GPU) is wiped and rewritten.</List.Item>
          <List.Item>The disks of the other GPUs, the ID and the IP address stay the same.</List.Item>
          <List.Item>The SSH host key changes. Run gpuaas ssh-config --write again if you use it.</List.Item>
          <List.Item>Charges continue.</List.Item>
        </List>
        <Select
          label="Image"
          data={choices}
          allowDeselect={false}
          {...form.getInputProps('image')}
          {...(images.error === null ? {} : { error: images.error.detail })}
        />
        <Switch
          label="Remove the user data from the launch"
          {...form.getInputProps('dropsUserData', { type: 'checkbox' })}
        />
      </Stack>
    </ConfirmDialog>
  );
};
