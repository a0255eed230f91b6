/** Accounts for programs: the list and a new one. */
import type { ServiceAccount } from '@gpuaas/sdk';
import { TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { DialogForm, FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import type { Secret } from '../../ui/secret-view.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { clientSecret } from './client-secret.tsx';
import { NAME_RULE, nameRefusal, optionalTextRefusal } from './names.ts';
import { useProjectFlags } from './use-cli-scope.ts';

const columnsOf = (projectId: string): readonly Column<ServiceAccount>[] => [
  {
    header: 'Name',
    cell: ({ id, name, description }) => (
      <>
        <Link
          className="link"
          to="/projects/$projectId/access"
          params={{ projectId }}
          search={{ tab: 'service-accounts', account: id }}
        >
          {name}
        </Link>
        <div className="muted">{description}</div>
      </>
    ),
  },
  { header: 'State', cell: ({ state }) => <StateBadge kind="account" state={state} /> },
  {
    header: 'Last used',
    cell: ({ last_used_at }) => (last_used_at === null ? 'never' : <Ago at={last_used_at} />),
  },
  { header: 'Secret made', cell: ({ secret_rotated_at }) => <Ago at={secret_rotated_at} />, isSecondary: true },
];

export const ServiceAccounts = ({ projectId }: Readonly<{ projectId: string }>) => {
  const accounts = useAll('serviceAccountList', { params: { project_id: projectId } });
  const refusal = useMay()('service_account.create', { project: projectId });
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<Secret | null>(null);
  const stop = () => {
    setCreating(false);
    setSecret(null);
  };
  return (
    <Section
      title="Service accounts"
      flush
      actions={
        <ActionButton disabledReason={refusal} onClick={() => setCreating(true)}>
          New service account
        </ActionButton>
      }
    >
      <Async of={accounts} label="Service accounts">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No service account yet">
              A service account lets a program work in this project: a pipeline that launches machines at night, say. It
              launches, connects and releases, and never manages people, accounts or tokens.
            </EmptyState>
          ) : (
            <DataTable
              label="List of service accounts"
              columns={columnsOf(projectId)}
              rows={rows}
              rowKey={({ id }) => id}
            />
          )
        }
      </Async>
      <FormDialog title="New service account" isOpen={isCreating} onClose={stop} secret={secret}>
        <CreateForm projectId={projectId} onCancel={stop} onCreated={setSecret} />
      </FormDialog>
    </Section>
  );
};

const CreateForm = ({
  projectId,
  onCreated,
  onCancel,
}: Readonly<{ projectId: string; onCreated(secret: Secret): void; onCancel(): void }>) => {
  const create = useChange('serviceAccountCreate');
  const flags = useProjectFlags(projectId);
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const submit = async () => {
    const body = { name, ...(description === '' ? {} : { description }) };
    const answer = await create.run({ params: { project_id: projectId }, body });
    if (answer !== null) onCreated(clientSecret(`Service account ${name}`, answer.data));
  };
  return (
    <DialogForm
      submitLabel="Create"
      missing={nameRefusal(name) ?? optionalTextRefusal(description, 'description', 240)}
      isRunning={create.isRunning}
      error={create.error}
      command={command(['service-account', 'create', name || 'NAME'], [['description', description], ...flags])}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <TextInput
        label="Name"
        description={NAME_RULE}
        value={name}
        maxLength={63}
        autoComplete="off"
        data-autofocus
        onChange={(event) => setName(event.currentTarget.value.trim())}
      />
      <TextInput
        label="What it is for"
        description="May be left out."
        value={description}
        maxLength={240}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </DialogForm>
  );
};
