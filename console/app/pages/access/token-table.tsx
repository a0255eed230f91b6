/** Tokens of a user or a service account, and revoking one. */
import type { ApiToken, GpuaasError } from '@gpuaas/sdk';
import { useState } from 'react';
import { ActionButton } from '../../ui/action-button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago, Until, useNow } from '../../ui/time.tsx';
import { tokenState } from './token-choices.ts';

const TokenState = ({ token }: Readonly<{ token: ApiToken }>) => {
  const state = tokenState(token, useNow());
  return (
    <>
      <StateBadge kind="token" state={state} />
      {state === 'active' && (
        <div className="muted">
          ends <Until at={token.expires_at} />
        </div>
      )}
    </>
  );
};

export const TokenTable = ({
  tokens,
  projectName,
  refusal,
  command,
  change,
  revoke,
}: Readonly<{
  tokens: readonly ApiToken[];
  /** Shows which project a token is bound to. */
  projectName?: (id: string) => string;
  refusal: string | null;
  command(token: ApiToken): string;
  change: Readonly<{ isRunning: boolean; error: GpuaasError | null; reset(): void }>;
  revoke(token: ApiToken): Promise<boolean>;
}>) => {
  const [ending, setEnding] = useState<ApiToken | null>(null);
  const nowMs = useNow();
  const columns: readonly Column<ApiToken>[] = [
    {
      header: 'Name',
      cell: ({ name, token_prefix }) => (
        <>
          {name}
          <div className="muted mono">{token_prefix}…</div>
        </>
      ),
    },
    { header: 'State', cell: (token) => <TokenState token={token} /> },
    { header: 'Scopes', cell: ({ scopes }) => <span className="mono">{scopes.join(', ')}</span>, isSecondary: true },
    ...(projectName === undefined
      ? []
      : [
          {
            header: 'Project',
            cell: ({ project_id }: ApiToken) => (project_id === null ? 'all projects' : projectName(project_id)),
            isSecondary: true,
          },
        ]),
    {
      header: 'Last used',
      cell: ({ last_used_at }) => (last_used_at === null ? 'never' : <Ago at={last_used_at} />),
      isSecondary: true,
    },
    {
      header: 'Actions',
      isHeaderHidden: true,
      align: 'right',
      cell: (token) => {
        const state = tokenState(token, nowMs);
        return (
          <ActionButton
            size="xs"
            variant="default"
            aria-label={`Revoke ${token.name}`}
            disabledReason={refusal ?? (state === 'active' ? null : `The token is already ${state}.`)}
            onClick={() => setEnding(token)}
          >
            Revoke
          </ActionButton>
        );
      },
    },
  ];
  return (
    <>
      <DataTable label="Tokens" columns={columns} rows={tokens} rowKey={({ id }) => id} />
      <ConfirmDialog
        title={`Revoke ${ending?.name ?? ''}`}
        isOpen={ending !== null}
        onClose={() => {
          setEnding(null);
          change.reset();
        }}
        confirmLabel="Revoke"
        isDestructive
        isRunning={change.isRunning}
        error={change.error}
        command={() => (ending === null ? '' : command(ending))}
        onConfirm={async () => ending !== null && (await revoke(ending))}
      >
        Programs using this token are rejected within 60 seconds. This cannot be undone.
      </ConfirmDialog>
    </>
  );
};
