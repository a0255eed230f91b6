/** A machine that is off costs as much as one that is on; whoever looks at it must read that, not find it on the bill. */

import type { Allocation } from '@gpuaas/sdk';
import { Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';

export const OffNotice = ({ allocation: { state, power } }: Readonly<{ allocation: Allocation }>) => {
  if (state !== 'active' || power === null) return null;
  if (power.state !== 'off' && power.state !== 'unknown') return null;
  const isOff = power.state === 'off';
  return (
    <section className="panel" data-tone="warn" aria-label={isOff ? 'It is off' : 'Its power is not known'}>
      <div className="al-panel-line">
        <IconAlertTriangle size={18} aria-hidden />
        <div>
          <Text fw={600} inherit>
            {isOff
              ? 'Off, still charged: its GPUs are kept for it until it is released'
              : 'Nobody saw how its last change of power ended'}
          </Text>
          <div className="panel-body">
            {power.reason !== null && <p>{power.reason}</p>}
            <p>
              {isOff
                ? 'Start switches it on again at the same address, with everything on it. Release ends the charge.'
                : 'It is charged as before. Start, Stop or Reboot each find out what it does and bring it where you want it.'}
            </p>
          </div>
        </div>
      </div>
    </section>
  );
};
