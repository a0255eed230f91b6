/** Its network: where it may go, who may come in, and how one reaches a port of it. */

import type { Allocation } from '@gpuaas/sdk';
import { List, NumberInput, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Copyable, CopyBlock } from '../../ui/copy.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import { connectRefusal } from './connect.ts';
import { useProjectFlags } from './hooks.ts';

const INGRESS =
  'A public address needs one that the platform may hand out and a firewall that it may write, and this site has declared neither.';

const Addresses = ({ allocation: { ssh, capacity_shape } }: Readonly<{ allocation: Allocation }>) => {
  const isSlice = capacity_shape === 'gpu_slice';
  return (
    <Facts
      facts={[
        [
          'Private address',
          ssh?.address ? (
            <Copyable key="address" text={ssh.address} label="private address" />
          ) : (
            'known while it is active'
          ),
        ],
        [
          'Mode',
          isSlice ? 'Private, with address translation outwards' : 'The node’s own network, as its site set it up',
        ],
        ['Outwards', isSlice ? 'Allowed. It leaves with the address of its host.' : 'As the site allows.'],
        ['Inwards', 'Only through the platform: SSH, terminal and port forwards, by who may connect.'],
      ]}
    />
  );
};

const Forward = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const [port, setPort] = useState<number | string>(8888);
  const flags = useProjectFlags(allocation.project_id);
  const refusal = connectRefusal(allocation);
  const isPort = Number.isInteger(Number(port)) && Number(port) >= 1 && Number(port) <= 65_535;
  return (
    <Stack gap="sm">
      <Text size="sm">
        A port of the machine becomes a port of yours: a notebook, a dashboard, a database. Nobody else can reach it,
        and each connection is a session in the list on the Connect tab.
      </Text>
      <NumberInput
        label="Port on the machine"
        w={180}
        min={1}
        max={65_535}
        allowDecimal={false}
        value={port}
        onChange={setPort}
        error={isPort ? undefined : 'From 1 to 65535.'}
      />
      {isPort && (
        <CopyBlock text={command(['forward', allocation.name, String(port)], flags)} label="forward command" />
      )}
      {isPort && refusal === null && (
        <Text size="sm" className="muted">
          Then open <span className="mono">http://127.0.0.1:{port}</span> on your machine.
        </Text>
      )}
      {refusal !== null && (
        <Text size="sm" className="muted">
          Not now: {refusal}
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
    <Section title="Forward a port">
      <Forward allocation={allocation} />
    </Section>
    {allocation.capacity_shape === 'gpu_slice' && (
      <Section title="Denied by default">
        <List size="sm" spacing={4}>
          <List.Item>Connections from outside, and from other slices, also those of your own project.</List.Item>
          <List.Item>The host and its services, and link-local metadata addresses (169.254.0.0/16).</List.Item>
          <List.Item>Networks that the site has closed to guests.</List.Item>
          <List.Item>IPv6, and any other MAC or address than its own.</List.Item>
        </List>
      </Section>
    )}
    <Section
      title="Public ingress"
      actions={
        <ActionButton size="xs" variant="default" disabledReason={INGRESS}>
          Open a public port
        </ActionButton>
      }
    >
      <Text size="sm">Not offered yet. {INGRESS} Until then, forward a port, or bring the connection from inside.</Text>
    </Section>
  </Stack>
);
