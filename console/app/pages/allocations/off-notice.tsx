/** A VM that is off is charged as before; its page must show that. */

import type { Allocation } from '@gpuaas/sdk';
import { Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';

export const OffNotice = ({ allocation: { state, power } }: Readonly<{ allocation: Allocation }>) => {
  if (state !== 'active' || power === null) return null;
  if (power.state !== 'off' && power.state !== 'unknown') return null;
  const isOff = power.state === 'off';
  return (
    <section className="panel" data-tone="warn" aria-label={isOff ? 'VM is off' : 'Power state unknown'}>
      <div className="al-panel-line">
        <IconAlertTriangle size={18} aria-hidden />
        <div>
          <Text fw={600} inherit>
            {isOff
              ? 'VM is off and still charged: the GPUs stay reserved until release'
              : 'The result of the last power action is unknown'}
          </Text>
          <div className="panel-body">
            {power.reason !== null && <p>{power.reason}</p>}
            <p>
              {isOff
                ? 'Start powers the VM on with the same IP address and disks. Release ends the charges.'
                : 'Charges continue. Start, Stop or Reboot brings the VM into a known state.'}
            </p>
          </div>
        </div>
      </div>
    </section>
  );
};
