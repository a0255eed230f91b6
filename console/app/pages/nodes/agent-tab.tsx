/** The agent of a node: connection, capabilities and certificate. */
import type { Node, Operations } from '@gpuaas/sdk';
import { Group, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { duration } from '../../format/time.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { Copyable } from '../../ui/copy.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { DialogForm, FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Facts, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Ago, Until, useNow } from '../../ui/time.tsx';
import { HostIdentity } from './host-identity.tsx';

type Agent = Operations['adminNodeAgentGet']['response'];
type Certificate = Agent['certificates'][number];

const DIGEST = /^sha256:[0-9a-f]{64}$/;

const CertificateState = ({ certificate }: Readonly<{ certificate: Certificate }>) => {
  const now = useNow();
  if (certificate.revoked_at !== null)
    return (
      <ToneBadge tone="bad" title={certificate.revoked_reason ?? undefined}>
        Revoked
      </ToneBadge>
    );
  return Date.parse(certificate.not_after) < now ? (
    <ToneBadge tone="idle">Expired</ToneBadge>
  ) : (
    <ToneBadge tone="good">Valid</ToneBadge>
  );
};

const columns: readonly Column<Certificate>[] = [
  { header: 'Serial', cell: ({ serial_number }) => <Copyable text={serial_number} label="serial number" /> },
  { header: 'State', cell: (certificate) => <CertificateState certificate={certificate} /> },
  { header: 'Valid from', cell: ({ not_before }) => <Ago at={not_before} />, isSecondary: true },
  { header: 'Expires', cell: ({ not_after }) => <Until at={not_after} /> },
  { header: 'Revocation reason', cell: ({ revoked_reason }) => revoked_reason ?? '', isSecondary: true },
];

const UpdateForm = ({ node, onClose }: Readonly<{ node: Node; onClose: () => void }>) => {
  const update = useChange('adminNodeAgentUpdate');
  const form = useForm({ initialValues: { version: '', digest: '' } });
  const version = form.getValues().version.trim();
  const digest = form.getValues().digest.trim();
  const missing =
    version === ''
      ? 'Enter a version.'
      : DIGEST.test(digest)
        ? null
        : 'Enter the digest as sha256: and 64 hexadecimal digits.';
  const submit = async () => {
    const answer = await update.run({ params: { node_id: node.id }, body: { version, digest } });
    if (answer !== null) onClose();
  };
  return (
    <DialogForm
      submitLabel="Update"
      missing={missing}
      isRunning={update.isRunning}
      error={update.error}
      onSubmit={submit}
      onCancel={onClose}
      command={command(
        ['admin', 'node', 'update-agent', node.name],
        [
          ['release', version === '' ? 'VERSION' : version],
          ['digest', digest === '' ? 'sha256:HEX' : digest],
        ],
      )}
    >
      <span>
        The agent downloads the release, verifies the digest and replaces itself. VMs keep running. If the new version
        fails to start, the old version continues.
      </span>
      <TextInput label="Version" data-autofocus {...form.getInputProps('version')} />
      <TextInput label="Digest" placeholder="sha256:…" {...form.getInputProps('digest')} />
    </DialogForm>
  );
};

const Body = ({ node, agent }: Readonly<{ node: Node; agent: Agent }>) => {
  const refusal = useMay()('admin.node.update');
  const [isUpdating, setUpdating] = useState(false);
  return (
    <Stack gap="md">
      <Section
        title="Agent"
        actions={
          <ActionButton
            size="xs"
            variant="default"
            disabledReason={refusal ?? (agent.is_connected ? null : 'The agent is not connected.')}
            onClick={() => setUpdating(true)}
          >
            Update agent
          </ActionButton>
        }
      >
        <Facts
          facts={[
            [
              'Connected',
              <ToneBadge key="connected" tone={agent.is_connected ? 'good' : 'bad'}>
                {agent.is_connected ? 'Connected' : 'Not connected'}
              </ToneBadge>,
            ],
            ['Last seen', agent.last_seen_at === null ? 'never' : <Ago key="seen" at={agent.last_seen_at} />],
            ['Host', <HostIdentity key="host" host={node.host} />],
            ['Version', agent.agent_version ?? 'unknown'],
            [
              'Clock',
              agent.clock_skew_ms === null
                ? 'unknown'
                : `${duration(Math.abs(agent.clock_skew_ms))} ${agent.clock_skew_ms < 0 ? 'behind' : 'ahead'}`,
            ],
            ['Host boot time', agent.booted_at === null ? 'unknown' : <Ago key="booted" at={agent.booted_at} />],
            [
              'Boot ID',
              agent.boot_id === null ? 'unknown' : <Copyable key="boot" text={agent.boot_id} label="boot ID" />,
            ],
          ]}
        />
      </Section>
      <Section title="Certificates" flush>
        {agent.certificates.length === 0 ? (
          <EmptyState title="No certificate">
            The agent gets a certificate at enrollment. Run the install command on the host. “Re-enroll” creates a new
            command.
          </EmptyState>
        ) : (
          <DataTable
            label="Certificates"
            columns={columns}
            rows={agent.certificates}
            rowKey={({ serial_number }) => serial_number}
          />
        )}
      </Section>
      <Section title="Capabilities">
        {agent.kinds.length === 0 ? (
          <span className="muted">Not reported yet.</span>
        ) : (
          <Group gap={6}>
            {agent.kinds.map((kind) => (
              <span key={kind} className="badge mono" data-tone="idle">
                {kind}
              </span>
            ))}
          </Group>
        )}
      </Section>
      <FormDialog title={`Update agent of ${node.name}`} isOpen={isUpdating} onClose={() => setUpdating(false)}>
        {isUpdating && <UpdateForm node={node} onClose={() => setUpdating(false)} />}
      </FormDialog>
    </Stack>
  );
};

export const AgentTab = ({ node }: Readonly<{ node: Node }>) => {
  const agent = useRead('adminNodeAgentGet', { params: { node_id: node.id } }, { everyMs: 10_000 });
  return (
    <Async of={agent} rows={8} label="Loading agent">
      {(found) => <Body node={node} agent={found} />}
    </Async>
  );
};
