/** The user's SSH public keys. */
import type { SshKey } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Copyable } from '../../ui/copy.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { AddKeyForm } from './add-key-form.tsx';
import { type KeyUse, useKeyUse } from './use-key-use.ts';

const Uses = ({ uses }: Readonly<{ uses: readonly KeyUse[] }>) =>
  uses.length === 0 ? (
    'not in use'
  ) : (
    <span className="link-list">
      {uses.map(({ id, name, projectId }) => (
        <Link
          key={id}
          className="link"
          to="/projects/$projectId/allocations/$allocationId"
          params={{ projectId, allocationId: id }}
        >
          {name}
        </Link>
      ))}
    </span>
  );

export const SshKeys = () => {
  const keys = useAll('sshKeyList', {});
  const remove = useChange('sshKeyDelete');
  const { usesOf, isLoading } = useKeyUse();
  const [isAdding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<SshKey | null>(null);
  const removingUses = removing === null ? [] : usesOf(removing.id);
  const columns: readonly Column<SshKey>[] = [
    {
      header: 'Name',
      cell: ({ name, algorithm }) => (
        <>
          {name}
          <div className="muted mono" style={{ whiteSpace: 'nowrap' }}>
            {algorithm}
          </div>
        </>
      ),
    },
    {
      header: 'Fingerprint',
      cell: ({ fingerprint }) => (
        <Copyable text={fingerprint} label="fingerprint">
          {`${fingerprint.slice(0, 19)}…`}
        </Copyable>
      ),
      isSecondary: true,
    },
    { header: 'In use on', cell: ({ id }) => (isLoading ? '…' : <Uses uses={usesOf(id)} />) },
    {
      header: 'Last used',
      cell: ({ last_used_at }) => (last_used_at === null ? 'never' : <Ago at={last_used_at} />),
      isSecondary: true,
    },
    { header: 'Added', cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
    {
      header: 'Actions',
      isHeaderHidden: true,
      align: 'right',
      cell: (key) => (
        <ActionButton size="xs" variant="default" aria-label={`Delete ${key.name}`} onClick={() => setRemoving(key)}>
          Delete
        </ActionButton>
      ),
    },
  ];
  return (
    <Section title="SSH keys" flush actions={<ActionButton onClick={() => setAdding(true)}>Add key</ActionButton>}>
      <Async of={keys} label="SSH keys">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No SSH keys">
              An SSH key gives access to allocations launched with it. Create a key with{' '}
              <span className="mono">ssh-keygen -t ed25519</span> and add the file that ends in .pub.
            </EmptyState>
          ) : (
            <DataTable label="SSH keys" columns={columns} rows={rows} rowKey={({ id }) => id} />
          )
        }
      </Async>
      <FormDialog title="Add SSH key" isOpen={isAdding} onClose={() => setAdding(false)}>
        <AddKeyForm onDone={() => setAdding(false)} />
      </FormDialog>
      <ConfirmDialog
        title={`Delete ${removing?.name ?? ''}`}
        isOpen={removing !== null}
        onClose={() => {
          setRemoving(null);
          remove.reset();
        }}
        confirmLabel="Delete"
        isDestructive
        isRunning={remove.isRunning}
        error={remove.error}
        command={() => command(['ssh-key', 'delete', removing?.name ?? ''], [['yes', true]])}
        onConfirm={async () =>
          removing !== null && (await remove.run({ params: { ssh_key_id: removing.id } })) !== null
        }
      >
        The key can no longer be selected for a launch.{' '}
        {removingUses.length > 0 && (
          <>
            The key keeps access to these allocations until they are released: <Uses uses={removingUses} />
          </>
        )}
      </ConfirmDialog>
    </Section>
  );
};
