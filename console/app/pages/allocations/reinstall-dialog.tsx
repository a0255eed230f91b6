/** Installing a slice anew: the boot disk is erased, so its name has to be typed. */

import type { Allocation } from '@gpuaas/sdk';
import { List, Select, Stack, Switch } from '@mantine/core';
import { useState } from 'react';
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
  const [image, setImage] = useState(SAME);
  const [dropsUserData, setDrops] = useState(false);
  const flags = useProjectFlags(project_id);
  const body = {
    ...(image === SAME ? {} : { image_name: image }),
    ...(dropsUserData ? { user_data: null } : {}),
  };
  const choices = [
    { value: SAME, label: `The version it has${image_name === null ? '' : ` (${image_name})`}` },
    ...(images.data ?? []).map((one) => ({
      value: one.name,
      label: one.enabled ? `${one.display_name}, newest version` : `${one.display_name} (not offered)`,
      disabled: !one.enabled,
    })),
  ];
  return (
    <ConfirmDialog
      title={`Reinstall ${name}`}
      isOpen
      onClose={onClose}
      confirmLabel="Erase its boot disk and reinstall"
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
          <List.Item>Its boot disk, the disk of its first GPU, is erased and written anew.</List.Item>
          <List.Item>The disks of its other GPUs, its id and its address stay.</List.Item>
          <List.Item>It gets a new host key: run gpuaas ssh-config --write again if you use that.</List.Item>
          <List.Item>It is charged as before.</List.Item>
        </List>
        <Select
          label="Image"
          data={choices}
          value={image}
          allowDeselect={false}
          onChange={(value) => setImage(value ?? SAME)}
          {...(images.error === null ? {} : { error: images.error.detail })}
        />
        <Switch
          label="Start without the user data it was launched with"
          checked={dropsUserData}
          onChange={(event) => setDrops(event.currentTarget.checked)}
        />
      </Stack>
    </ConfirmDialog>
  );
};
