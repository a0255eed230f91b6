/** The host of a node: the one that is bound, or which host can become it. */
import type { Node } from '@gpuaas/sdk';
import { Stack } from '@mantine/core';
import { Copyable } from '../../ui/copy.tsx';

const FIELDS = [
  ['product_serial', 'Serial number'],
  ['product_uuid', 'System UUID'],
  ['machine_id', 'Machine ID'],
] as const;

const STATES: Readonly<Record<Node['host']['state'], string>> = {
  unbound: 'Not bound. The first host that uses the token is bound to the node.',
  named: 'Only the host with this identity can enroll:',
  bound: 'Bound. Only this host can enroll:',
};

export const HostIdentity = ({ host }: Readonly<{ host: Node['host'] }>) => (
  <Stack gap={2}>
    <span>{STATES[host.state]}</span>
    {FIELDS.map(([field, label]) => {
      const value = host[field];
      return value === null ? null : (
        <span key={field}>
          {label} <Copyable text={value} label={label.toLowerCase()} />
        </span>
      );
    })}
  </Stack>
);
