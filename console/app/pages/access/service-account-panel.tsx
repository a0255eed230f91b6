/** One service account: details, secret, state and tokens. */
import type { ServiceAccount } from '@gpuaas/sdk';
import { Button, Group, Stack } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Copyable } from '../../ui/copy.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Facts, Section } from '../../ui/page.tsx';
import type { Secret } from '../../ui/secret-view.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { RotateForm } from './rotate-form.tsx';
import { ServiceAccountTokens } from './service-account-tokens.tsx';
import { useProjectFlags } from './use-cli-scope.ts';

export const ServiceAccountPanel = ({ projectId, accountId }: Readonly<{ projectId: string; accountId: string }>) => {
  const account = useRead('serviceAccountGet', { params: { project_id: projectId, service_account_id: accountId } });
  return (
    <Stack gap="md" align="stretch">
      <div>
        <Button
          size="xs"
          variant="subtle"
          leftSection={<IconArrowLeft size={15} aria-hidden />}
          renderRoot={(props) => (
            <Link
              to="/projects/$projectId/access"
              params={{ projectId }}
              search={{ tab: 'service-accounts' }}
              {...props}
            />
          )}
        >
          All service accounts
        </Button>
      </div>
      <Async of={account} label="Service account">
        {(data) => (
          <>
            <Account projectId={projectId} account={data} />
            <ServiceAccountTokens projectId={projectId} account={data} />
          </>
        )}
      </Async>
    </Stack>
  );
};

const Account = ({ projectId, account }: Readonly<{ projectId: string; account: ServiceAccount }>) => {
  const { id, name, state, description, last_used_at, secret_rotated_at, created_at, version } = account;
  const params = { project_id: projectId, service_account_id: id };
  const update = useChange('serviceAccountUpdate');
  const remove = useChange('serviceAccountDelete');
  const may = useMay();
  const navigate = useNavigate();
  const flags = useProjectFlags(projectId);
  const [asked, setAsked] = useState<'rotate' | 'delete' | null>(null);
  const [secret, setSecret] = useState<Secret | null>(null);
  const close = () => {
    setAsked(null);
    setSecret(null);
    remove.reset();
  };
  const refusal = may('service_account.update', { project: projectId });
  const next = state === 'enabled' ? 'disabled' : 'enabled';
  return (
    <Section
      title={name}
      actions={
        <>
          <ActionButton
            variant="default"
            disabledReason={refusal}
            loading={update.isRunning}
            onClick={() => void update.run({ params, body: { state: next } }, { ifMatch: version })}
          >
            {state === 'enabled' ? 'Disable' : 'Enable'}
          </ActionButton>
          <ActionButton variant="default" disabledReason={refusal} onClick={() => setAsked('rotate')}>
            New secret
          </ActionButton>
          <ActionButton
            color="red"
            variant="light"
            disabledReason={may('service_account.delete', { project: projectId })}
            onClick={() => setAsked('delete')}
          >
            Delete
          </ActionButton>
        </>
      }
    >
      <Stack gap="sm">
        {update.error !== null && <ErrorPanel error={update.error} />}
        <Facts
          facts={[
            ['State', <StateBadge key="state" kind="account" state={state} />],
            ['Client ID', <Copyable key="id" text={id} label="client ID" />],
            ['Description', description ?? '–'],
            ['Last used', last_used_at === null ? 'never' : <Ago key="used" at={last_used_at} />],
            ['Secret created', <Ago key="secret" at={secret_rotated_at} />],
            ['Created', <Ago key="created" at={created_at} />],
          ]}
        />
        {state === 'disabled' && (
          <p className="muted" style={{ margin: 0 }}>
            The secret and all tokens of this account are rejected until the account is enabled.
          </p>
        )}
        <Group>
          <CliCommand command={command(['service-account', 'update', name], [['state', next], ...flags])} />
        </Group>
      </Stack>
      <FormDialog title={`New secret for ${name}`} isOpen={asked === 'rotate'} onClose={close} secret={secret}>
        <RotateForm projectId={projectId} account={account} onCancel={close} onRotated={setSecret} />
      </FormDialog>
      <ConfirmDialog
        title={`Delete ${name}`}
        isOpen={asked === 'delete'}
        onClose={close}
        confirmLabel="Delete"
        isDestructive
        typeToConfirm={name}
        isRunning={remove.isRunning}
        error={remove.error}
        command={() => command(['service-account', 'delete', name], [...flags, ['yes', true]])}
        onConfirm={async () => {
          const isGone = (await remove.run({ params })) !== null;
          if (isGone)
            void navigate({
              to: '/projects/$projectId/access',
              params: { projectId },
              search: { tab: 'service-accounts' },
              replace: true,
            });
          return isGone;
        }}
      >
        The secret and all tokens stop working. Its allocations keep running and stay charged to the project.
      </ConfirmDialog>
    </Section>
  );
};
