/** The action buttons of an allocation. A button that cannot be used stays visible and gives the reason. */

import type { Allocation } from '@gpuaas/sdk';
import { Button, Menu, Tooltip } from '@mantine/core';
import { IconChevronDown, IconPencil, IconPlugConnected, IconPower, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { useMay } from '../../api/me.tsx';
import { ActionButton, whyNot } from '../../ui/action-button.tsx';
import { useReturnFocus } from '../../ui/return-focus.ts';
import { launchSearch } from '../launch/form.ts';
import { releaseRefusal } from './actions.ts';
import { EditDialog } from './edit-dialog.tsx';
import { LaunchButton } from './launch-button.tsx';
import { type PowerChange, PowerDialog } from './power-dialog.tsx';
import { ReleaseDialog } from './release-dialog.tsx';

const POWER_CHANGES: readonly Readonly<{ change: PowerChange; label: string }>[] = [
  { change: 'start', label: 'Start' },
  { change: 'stop', label: 'Stop' },
  { change: 'reboot', label: 'Reboot' },
  { change: 'reinstall', label: 'Reinstall' },
];
const BARE_METAL = 'Bare metal has no power actions here. Use its operating system, or release it.';

const powerRefusal = ({ actions, capacity_shape }: Allocation, change: PowerChange): string | null =>
  capacity_shape === 'baremetal' ? BARE_METAL : whyNot(actions, change);

const PowerMenu = ({
  allocation,
  onChoose,
}: Readonly<{ allocation: Allocation; onChoose(change: PowerChange): void }>) => (
  <Menu position="bottom-end" width={180}>
    <Menu.Target>
      <Button
        variant="default"
        leftSection={<IconPower size={16} aria-hidden />}
        rightSection={<IconChevronDown size={15} aria-hidden />}
      >
        Power
      </Button>
    </Menu.Target>
    <Menu.Dropdown>
      {POWER_CHANGES.map(({ change, label }) => {
        const refusal = powerRefusal(allocation, change);
        return (
          <Tooltip key={change} label={refusal} disabled={refusal === null} position="left">
            <Menu.Item
              closeMenuOnClick={refusal === null}
              {...(refusal === null
                ? { onClick: () => onChoose(change) }
                : { 'aria-disabled': true, 'data-disabled': true, 'aria-description': refusal })}
            >
              {label}
            </Menu.Item>
          </Tooltip>
        );
      })}
    </Menu.Dropdown>
  </Menu>
);

export const AllocationActions = ({
  allocation,
  onConnect,
}: Readonly<{ allocation: Allocation; onConnect(): void }>) => {
  const may = useMay();
  const [open, setOpen] = useState<'edit' | 'release' | PowerChange | null>(null);
  const { leave, comeBack } = useReturnFocus();
  const ask = (what: 'edit' | 'release' | PowerChange) => {
    leave();
    setOpen(what);
  };
  const close = () => {
    setOpen(null);
    comeBack();
  };
  const { actions, project_id } = allocation;
  const release = releaseRefusal(allocation, {
    release: whyNot(actions, 'release'),
    update: whyNot(actions, 'update'),
    role: may('allocation.release', { project: project_id }),
  });
  return (
    <>
      <Button
        variant={allocation.state === 'active' ? 'filled' : 'default'}
        leftSection={<IconPlugConnected size={16} aria-hidden />}
        onClick={onConnect}
      >
        Connect
      </Button>
      <PowerMenu allocation={allocation} onChoose={ask} />
      <ActionButton
        variant="default"
        leftSection={<IconPencil size={16} aria-hidden />}
        disabledReason={whyNot(actions, 'update')}
        onClick={() => ask('edit')}
      >
        Edit or extend
      </ActionButton>
      <LaunchButton variant="default" projectId={project_id} search={launchSearch(allocation)}>
        Launch again
      </LaunchButton>
      <ActionButton
        variant="default"
        className="al-danger"
        leftSection={<IconTrash size={16} aria-hidden />}
        disabledReason={release}
        onClick={() => ask('release')}
      >
        {allocation.state === 'release_failed' ? 'Retry cleanup' : 'Release'}
      </ActionButton>
      {open === 'edit' && <EditDialog allocation={allocation} onClose={close} />}
      {open === 'release' && <ReleaseDialog allocation={allocation} isOpen onClose={close} />}
      {open !== null && open !== 'edit' && open !== 'release' && (
        <PowerDialog allocation={allocation} change={open} onClose={close} />
      )}
    </>
  );
};
