/**
 * Invitations to an organization. An invitation is bound to an email address; its token is shown once, and the inviter
 * sends it.
 */
import type { Invitation } from '@gpuaas/sdk';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { usePages } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import type { Secret } from '../../ui/secret-view.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago, Until } from '../../ui/time.tsx';
import { InviteForm } from './invite-form.tsx';
import { useOrganizationFlag } from './use-cli-scope.ts';

export const Invitations = ({ organizationId }: Readonly<{ organizationId: string }>) => {
  const place = { organization: organizationId };
  const may = useMay();
  const readRefusal = may('invitation.read', place);
  const invitations = usePages(
    'invitationList',
    { params: { organization_id: organizationId } },
    { enabled: readRefusal === null },
  );
  const revoke = useChange('invitationRevoke');
  const org = useOrganizationFlag(organizationId);
  const [isInviting, setInviting] = useState(false);
  const [revoking, setRevoking] = useState<Invitation | null>(null);
  const [secret, setSecret] = useState<Secret | null>(null);
  const stop = () => {
    setInviting(false);
    setSecret(null);
  };
  const columns: readonly Column<Invitation>[] = [
    { header: 'Email', cell: ({ email }) => email },
    { header: 'Role', cell: ({ role }) => role },
    { header: 'State', cell: ({ state }) => <StateBadge kind="invitation" state={state} /> },
    {
      header: 'Expires',
      cell: ({ state, expires_at }) => (state === 'pending' ? <Until at={expires_at} /> : '–'),
      isSecondary: true,
    },
    { header: 'Created', cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
    {
      header: 'Actions',
      isHeaderHidden: true,
      align: 'right',
      cell: (invitation) => (
        <ActionButton
          size="xs"
          variant="default"
          aria-label={`Revoke invitation for ${invitation.email}`}
          disabledReason={
            may('invitation.revoke', place) ??
            (invitation.state === 'pending' ? null : 'Only a pending invitation can be revoked.')
          }
          onClick={() => setRevoking(invitation)}
        >
          Revoke
        </ActionButton>
      ),
    },
  ];
  const body = () => {
    if (readRefusal !== null)
      return (
        <EmptyState title="Invitations require the admin role">
          {readRefusal} Ask an admin to send the invitation.
        </EmptyState>
      );
    return (
      <PagedTable
        pages={invitations}
        label="Invitations"
        columns={columns}
        empty={
          <EmptyState title="No invitations">
            Invite a person by email address and send them the token. They sign in with that address and accept it under
            Settings.
          </EmptyState>
        }
      />
    );
  };
  return (
    <Section
      title="Invitations"
      flush
      actions={
        <ActionButton disabledReason={may('invitation.create', place)} onClick={() => setInviting(true)}>
          Invite member
        </ActionButton>
      }
    >
      {body()}
      <FormDialog title="Invite member" isOpen={isInviting} onClose={stop} secret={secret}>
        <InviteForm organizationId={organizationId} onCancel={stop} onInvited={setSecret} />
      </FormDialog>
      <ConfirmDialog
        title={`Revoke invitation for ${revoking?.email ?? ''}`}
        isOpen={revoking !== null}
        onClose={() => {
          setRevoking(null);
          revoke.reset();
        }}
        confirmLabel="Revoke"
        isDestructive
        isRunning={revoke.isRunning}
        error={revoke.error}
        command={() => command(['invitation', 'revoke', revoking?.id ?? ''], [org, ['yes', true]])}
        onConfirm={async () =>
          revoking !== null &&
          (await revoke.run({ params: { organization_id: organizationId, invitation_id: revoking.id } })) !== null
        }
      >
        The token stops working immediately. You can invite the person again.
      </ConfirmDialog>
    </Section>
  );
};
