/** Problems of the host that affect the allocation, as its operator or its agent describes them to tenants. */

import type { Allocation } from '@gpuaas/sdk';
import { Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Ago } from '../../ui/time.tsx';

export const HostNotices = ({ allocation: { notices } }: Readonly<{ allocation: Allocation }>) => {
  if (notices.length === 0) return null;
  return (
    <section className="panel" data-tone="warn" aria-label="Notices">
      <div className="al-panel-line">
        <IconAlertTriangle size={18} aria-hidden />
        <div>
          <Text fw={600} inherit>
            The platform reports a problem with the host of this allocation
          </Text>
          <div className="panel-body">
            {notices.map(({ message, since }) => (
              <p key={message}>
                {message} <Ago at={since} />
              </p>
            ))}
          </div>
        </div>
      </div>
    </section>
  );
};
