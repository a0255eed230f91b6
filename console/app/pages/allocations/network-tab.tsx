/** The network of the allocation: outbound and inbound access, and how to reach a port. */

import type { Allocation } from '@gpuaas/sdk';
import { List, NumberInput, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { command } from '../../format/shell.ts';
import { ActionButton, whyNot } from '../../ui/action-button.tsx';
import { Copyable, CopyBlock } from '../../ui/copy.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import { useProjectFlags } from './hooks.ts';

const INGRESS = 'This site provides no public address pool and no managed firewall.';

const Addresses = ({ allocation: { ssh, capacity_shape, fabric } }: Readonly<{ allocation: Allocation }>) => {
  const isSlice = capacity_shape === 'gpu_slice';
  return (
    <Facts
      facts={[
        [
          'Private address',
          ssh?.address ? (
            <Copyable key="address" text={ssh.address} label="private address" />
          ) : (
            'available while active'
          ),
        ],
        ['Mode', isSlice ? 'Private, NAT for outbound traffic' : 'Network of the node, as configured by the site'],
        ['Outbound', isSlice ? 'Allowed, with the source address of the host.' : 'As configured by the site.'],
        ['Inbound', 'Only through the gateway: SSH, terminal and port forwards of authorized users.'],
        ['Fabric', fabric.detail],
      ]}
    />
  );
};

const Forward = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const [port, setPort] = useState<number | string>(8888);
  const flags = useProjectFlags(allocation.project_id);
  const refusal = whyNot(allocation.actions, 'connect');
  const isPort = Number.isInteger(Number(port)) && Number(port) >= 1 && Number(port) <= 65_535;
  return (
    <Stack gap="sm">
      <Text size="sm">
        Makes a port of the allocation available on your computer, for example a notebook or dashboard. Only you can
        reach it. Each connection appears under Sessions on the Connect tab.
      </Text>
      <NumberInput
        label="Remote port"
        w={180}
        min={1}
        max={65_535}
        allowDecimal={false}
        value={port}
        onChange={setPort}
        error={isPort ? undefined : 'Enter 1 to 65535.'}
      />
      {isPort && (
        <CopyBlock text={command(['forward', allocation.name, String(port)], flags)} label="forward command" />
      )}
      {isPort && refusal === null && (
        <Text size="sm" className="muted">
          Then open <span className="mono">http://127.0.0.1:{port}</span> on your computer.
        </Text>
      )}
      {refusal !== null && (
        <Text size="sm" className="muted">
          Not available: {refusal}
        </Text>
      )}
    </Stack>
  );
};

export const NetworkTab = ({ allocation }: Readonly<{ allocation: Allocation }>) => (
  <Stack gap="md">
    <Section title="Addresses">
      <Addresses allocation={allocation} />
    </Section>
    <Section title="Port forwarding">
      <Forward allocation={allocation} />
    </Section>
    {allocation.capacity_shape === 'gpu_slice' && (
      <Section title="Denied by default">
        <List size="sm" spacing={4}>
          <List.Item>
            Inbound connections from outside and from other slices, including those of your project.
          </List.Item>
          <List.Item>The host, its services and link-local metadata addresses (169.254.0.0/16).</List.Item>
          <List.Item>Networks that the site blocks for VMs.</List.Item>
          <List.Item>IPv6, and any MAC or IP address other than its own.</List.Item>
        </List>
      </Section>
    )}
    <Section
      title="Public ingress"
      actions={
        <ActionButton size="xs" variant="default" disabledReason={INGRESS}>
          Open public port
        </ActionButton>
      }
    >
      <Text size="sm">Not available yet. {INGRESS} Use port forwarding, or connect outbound from the VM.</Text>
    </Section>
  </Stack>
);
