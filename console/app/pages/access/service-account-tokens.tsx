/** Long-lived tokens of a service account, for programs that cannot exchange a secret. */
import { ROLES, type ServiceAccount } from '@gpuaas/sdk';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import type { Secret } from '../../ui/secret-view.tsx';
import { TokenForm } from './token-form.tsx';
import { tokenSecret } from './token-secret.tsx';
import { TokenTable } from './token-table.tsx';
import { useProjectFlags } from './use-cli-scope.ts';

export const ServiceAccountTokens = ({
  projectId,
  account,
}: Readonly<{ projectId: string; account: ServiceAccount }>) => {
  const params = { project_id: projectId, service_account_id: account.id };
  const tokens = useAll('serviceAccountTokenList', { params });
  const create = useChange('serviceAccountTokenCreate');
  const revoke = useChange('serviceAccountTokenRevoke');
  const may = useMay();
  const flags = useProjectFlags(projectId);
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<Secret | null>(null);
  const stop = () => {
    setCreating(false);
    setSecret(null);
    create.reset();
  };
  return (
    <Section
      title="Tokens"
      flush
      actions={
        <ActionButton
          disabledReason={
            may('service_account.token.create', { project: projectId }) ??
            (account.state === 'disabled' ? 'The account is disabled. Enable it first.' : null)
          }
          onClick={() => setCreating(true)}
        >
          New token
        </ActionButton>
      }
    >
      <Async of={tokens} label="Tokens" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No long-lived tokens">
              Prefer the client secret: its access tokens expire after 1 hour. Create a long-lived token only for
              programs that accept one fixed value.
            </EmptyState>
          ) : (
            <TokenTable
              tokens={rows}
              refusal={may('service_account.token.revoke', { project: projectId })}
              command={({ id }) =>
                command(['service-account', 'token', 'revoke', account.name, id], [...flags, ['yes', true]])
              }
              change={revoke}
              revoke={async ({ id }) => (await revoke.run({ params: { ...params, token_id: id } })) !== null}
            />
          )
        }
      </Async>
      <FormDialog title={`New token for ${account.name}`} isOpen={isCreating} onClose={stop} secret={secret}>
        <TokenForm
          permissions={ROLES.service_account}
          projects={null}
          words={['service-account', 'token', 'create', account.name]}
          flags={() => flags}
          change={create}
          send={async ({ project_id: _, ...body }) => (await create.run({ params, body }))?.data ?? null}
          onCancel={stop}
          onCreated={(created) => setSecret(tokenSecret(created))}
        />
      </FormDialog>
    </Section>
  );
};
