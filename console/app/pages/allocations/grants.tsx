/** SSH keys with access beside those of the launch: granted and revoked while the allocation runs. */

import type { AccessGrant, Allocation } from '@gpuaas/sdk';
import { Group, Select } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay, useMe } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton, whyNot } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { Copyable } from '../../ui/copy.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Section } from '../../ui/page.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { useProjectFlags } from './hooks.ts';

const EVERY_MS = 5_000;

const AddGrant = ({ allocation, granted }: Readonly<{ allocation: Allocation; granted: ReadonlySet<string> }>) => {
  const create = useChange('accessGrantCreate');
  const keys = useAll('sshKeyList', {});
  const [chosen, setChosen] = useState<string | null>(null);
  const flags = useProjectFlags(allocation.project_id);
  const { project_id, id, name, ssh_key_ids } = allocation;
  const free = (keys.data ?? []).filter((key) => !granted.has(key.id) && !ssh_key_ids.includes(key.id));
  const key = free.find((one) => one.id === chosen);
  const refusal = whyNot(allocation.actions, 'grant') ?? (key === undefined ? 'Select a key.' : null);
  const add = async () => {
    if (key === undefined) return;
    const made = await create.run({ params: { project_id, allocation_id: id }, body: { ssh_key_id: key.id } });
    if (made !== null) setChosen(null);
  };
  return (
    <div className="al-padded">
      <Group gap="sm" align="flex-end">
        <Select
          label="Grant access to another key"
          w={280}
          placeholder={free.length === 0 ? 'all your keys have access' : 'select a key'}
          data={free.map((one) => ({ value: one.id, label: one.name }))}
          value={key?.id ?? null}
          onChange={setChosen}
        />
        <ActionButton disabledReason={refusal} loading={create.isRunning} onClick={() => void add()}>
          Grant
        </ActionButton>
        <Link className="link al-roomy" to="/settings" search={{ tab: 'ssh-keys' }}>
          Manage keys
        </Link>
      </Group>
      {create.error !== null && <ErrorPanel error={create.error} />}
      <CliCommand command={command(['allocation', 'grant', name], [['key', key?.name ?? 'KEY'], ...flags])} />
    </div>
  );
};

export const Grants = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const { project_id, id, ssh_key_ids } = allocation;
  const me = useMe();
  const may = useMay();
  const revoke = useChange('accessGrantRevoke');
  const params = { project_id, allocation_id: id };
  const grants = useAll('accessGrantList', { params }, { everyMs: EVERY_MS });
  const managing = may('project.member.update', { project: project_id });
  const refusalOf = ({ state, user_id, granted_by }: AccessGrant): string | null => {
    if (state === 'revoked' || state === 'revoking') return 'The grant is revoked.';
    return user_id === me.id || granted_by === me.id || managing === null
      ? null
      : 'Only the key owner, the person who granted access or a project admin can revoke this grant.';
  };
  const columns: readonly Column<AccessGrant>[] = [
    { header: 'User', cell: ({ user_name }) => user_name },
    {
      header: 'State',
      cell: ({ state, state_reason }) => (
        <div className="al-stack-tight">
          <span>
            <StateBadge kind="grant" state={state} />
          </span>
          {state_reason !== null && <span className="muted al-small">{state_reason}</span>}
        </div>
      ),
    },
    {
      header: 'Key',
      isSecondary: true,
      cell: ({ fingerprint }) => (
        <Copyable text={fingerprint} label="fingerprint">
          {`${fingerprint.slice(0, 19)}…`}
        </Copyable>
      ),
    },
    { header: 'Granted', cell: ({ created_at }) => <Ago at={created_at} /> },
    {
      header: 'Revoke',
      isHeaderHidden: true,
      align: 'right',
      cell: (row) => (
        <ActionButton
          size="xs"
          variant="default"
          disabledReason={refusalOf(row)}
          aria-label={`Revoke key of ${row.user_name}`}
          onClick={() => void revoke.run({ params: { ...params, access_grant_id: row.id } })}
        >
          Revoke
        </ActionButton>
      ),
    },
  ];
  return (
    <Section title="SSH keys with access" flush>
      <p className="muted al-padded">
        {ssh_key_ids.length === 0
          ? 'Launched without an SSH key.'
          : `${ssh_key_ids.length === 1 ? '1 key' : `${ssh_key_ids.length} keys`} from the launch.`}{' '}
        Keys granted later are listed below. Revoking a key does not close open connections.
      </p>
      {revoke.error !== null && <ErrorPanel error={revoke.error} />}
      <Async of={grants} rows={2}>
        {(rows) => (
          <>
            {rows.length > 0 && (
              <DataTable label="Granted keys" columns={columns} rows={rows} rowKey={(row) => row.id} />
            )}
            <AddGrant
              allocation={allocation}
              granted={new Set(rows.filter(({ state }) => state !== 'revoked').map(({ ssh_key_id }) => ssh_key_id))}
            />
          </>
        )}
      </Async>
    </Section>
  );
};
