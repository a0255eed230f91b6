/** Service accounts of a project: the list and a form for a new one. */
import type { ServiceAccount } from '@gpuaas/sdk';
import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { NAME_RULE, nameProblem, optionalTextProblem } from '../../rules/name.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { DialogForm, FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import type { Secret } from '../../ui/secret-view.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { clientSecret } from './client-secret.tsx';
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
  { header: 'Secret created', cell: ({ secret_rotated_at }) => <Ago at={secret_rotated_at} />, isSecondary: true },
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
            <EmptyState title="No service accounts">
              A service account lets a program work in this project, for example a nightly pipeline that launches VMs.
              It can launch, connect to and release allocations. It cannot manage members, accounts or tokens.
            </EmptyState>
          ) : (
            <DataTable label="Service accounts" columns={columnsOf(projectId)} rows={rows} rowKey={({ id }) => id} />
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
  const form = useForm({ initialValues: { name: '', description: '' } });
  const { name, description } = form.getValues();
  const submit = async () => {
    const body = { name, ...(description === '' ? {} : { description }) };
    const answer = await create.run({ params: { project_id: projectId }, body });
    if (answer !== null) onCreated(clientSecret(`Service account ${name}`, answer.data));
  };
  return (
    <DialogForm
      submitLabel="Create"
      missing={nameProblem(name) ?? optionalTextProblem(description, 'description', 240)}
      isRunning={create.isRunning}
      error={create.error}
      command={command(['service-account', 'create', name || 'NAME'], [['description', description], ...flags])}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <TextInput
        label="Name"
        description={NAME_RULE}
        maxLength={63}
        autoComplete="off"
        data-autofocus
        {...form.getInputProps('name')}
      />
      <TextInput label="Description" description="Optional." maxLength={240} {...form.getInputProps('description')} />
    </DialogForm>
  );
};
