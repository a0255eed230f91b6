/** The browser sessions of the user, and ending them. */
import type { WebSession } from '@gpuaas/sdk';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useAll } from '../../api/read.ts';
import { NOT_SIGNED_OUT, useSignOut } from '../../api/sign-out.ts';
import { command } from '../../format/shell.ts';
import { count } from '../../format/size.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Ago, Until } from '../../ui/time.tsx';
import { browserName } from './browser.ts';

const revokeCommand = ({ id }: WebSession): string => command(['web-session', 'revoke', id], [['yes', true]]);

export const BrowserSessions = () => {
  const sessions = useAll('webSessionList', {});
  const revoke = useChange('webSessionRevoke');
  const { hasFailed, leave } = useSignOut();
  const [ending, setEnding] = useState<readonly WebSession[]>([]);
  const others = (sessions.data ?? []).filter(({ is_current }) => !is_current);
  const close = () => {
    setEnding([]);
    revoke.reset();
  };
  /** One after the other, so that an error names the remaining one; those before it stay ended. */
  const endAll = async (): Promise<boolean> => {
    for (const { id } of ending) if ((await revoke.run({ params: { web_session_id: id } })) === null) return false;
    return true;
  };
  const columns: readonly Column<WebSession>[] = [
    {
      header: 'Browser',
      cell: ({ user_agent, is_current }) => (
        <>
          <span title={user_agent ?? ''}>{browserName(user_agent)}</span>{' '}
          {is_current && <ToneBadge tone="good">This browser</ToneBadge>}
        </>
      ),
    },
    { header: 'IP address', cell: ({ source_ip }) => source_ip ?? '–', isSecondary: true },
    { header: 'Signed in', cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
    { header: 'Last seen', cell: ({ last_seen_at }) => <Ago at={last_seen_at} /> },
    { header: 'Expires', cell: ({ expires_at }) => <Until at={expires_at} />, isSecondary: true },
    {
      header: 'Actions',
      isHeaderHidden: true,
      align: 'right',
      cell: (session) => (
        <ActionButton
          size="xs"
          variant="default"
          aria-label={`Sign out ${browserName(session.user_agent)}`}
          onClick={() => (session.is_current ? leave() : setEnding([session]))}
        >
          Sign out
        </ActionButton>
      ),
    },
  ];
  const [only] = ending;
  return (
    <Section
      title="Browser sessions"
      flush
      actions={
        <ActionButton
          variant="default"
          disabledReason={others.length === 0 ? 'No other browser is signed in.' : null}
          onClick={() => setEnding(others)}
        >
          Sign out all others
        </ActionButton>
      }
    >
      {hasFailed && (
        <p role="alert" className="muted">
          {NOT_SIGNED_OUT}
        </p>
      )}
      <Async of={sessions} label="Sessions">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No browser sessions">
              You use the console with a token. Signed-in browsers are listed here.
            </EmptyState>
          ) : (
            <DataTable label="Browser sessions" columns={columns} rows={rows} rowKey={({ id }) => id} />
          )
        }
      </Async>
      <ConfirmDialog
        title={ending.length > 1 ? 'Sign out all other browsers' : `Sign out ${browserName(only?.user_agent ?? null)}`}
        isOpen={ending.length > 0}
        onClose={close}
        confirmLabel="Sign out"
        isDestructive
        isRunning={revoke.isRunning}
        error={revoke.error}
        command={() => ending.map(revokeCommand).join('\n')}
        onConfirm={endAll}
      >
        {ending.length > 1
          ? `${count(ending.length, 'browser')} will be signed out within seconds. Their open terminals end. `
          : `${browserName(only?.user_agent ?? null)} will be signed out within seconds. Its open terminals end. `}
        Allocations and tokens are not affected.
      </ConfirmDialog>
    </Section>
  );
};
