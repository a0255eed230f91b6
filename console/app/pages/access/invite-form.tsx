import { Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMe } from '../../api/me.tsx';
import { command } from '../../format/shell.ts';
import { DialogForm } from '../../ui/form-dialog.tsx';
import type { Secret } from '../../ui/secret-view.tsx';
import { RoleChoice } from './role-choice.tsx';
import { givableRoles, type TenantRole } from './roles.ts';
import { useOrganizationFlag } from './use-cli-scope.ts';

const EXPIRIES = [
  { value: '1d', label: '1 day', seconds: 86_400 },
  { value: '7d', label: '7 days', seconds: 604_800 },
  { value: '30d', label: '30 days, the longest', seconds: 2_592_000 },
] as const;
const ADDRESS = /^[^\s@]+@[^\s@]+$/;

export const InviteForm = ({
  organizationId,
  onInvited,
  onCancel,
}: Readonly<{ organizationId: string; onInvited(secret: Secret): void; onCancel(): void }>) => {
  const create = useChange('invitationCreate');
  const me = useMe();
  const org = useOrganizationFlag(organizationId);
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<TenantRole>('member');
  const [expiry, setExpiry] = useState<string>('7d');
  const submit = async () => {
    const expires_in_s = EXPIRIES.find(({ value }) => value === expiry)?.seconds;
    const answer = await create.run({
      params: { organization_id: organizationId },
      body: { email, role, ...(expires_in_s === undefined ? {} : { expires_in_s }) },
    });
    if (answer === null) return;
    onInvited({
      title: `Invitation of ${email}`,
      name: 'invitation token',
      value: answer.data.token,
      facts: [['Or as a command', command(['invitation', 'accept', answer.data.token])]],
      explanation: (
        <>
          No mail is sent: hand the token to the person yourself. They sign in here as {email} and accept it under
          Settings, Profile, or run the command.
        </>
      ),
    });
  };
  return (
    <DialogForm
      submitLabel="Invite"
      missing={email === '' ? 'Write the address.' : ADDRESS.test(email) ? null : 'That is no e-mail address.'}
      isRunning={create.isRunning}
      error={create.error}
      command={command(['invitation', 'create', email || 'ADDRESS'], [['role', role], ['expires-in', expiry], org])}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <TextInput
        label="E-mail address"
        description="The person must sign in with this address; the invitation is worth nothing to others."
        type="email"
        value={email}
        maxLength={254}
        autoComplete="off"
        data-autofocus
        onChange={(event) => setEmail(event.currentTarget.value.trim())}
      />
      <RoleChoice<TenantRole> roles={givableRoles(me, organizationId)} value={role} onChange={setRole} />
      <Select
        label="Can be accepted for"
        data={EXPIRIES.map(({ value, label }) => ({ value, label }))}
        value={expiry}
        allowDeselect={false}
        onChange={(value) => setExpiry(value ?? '7d')}
      />
    </DialogForm>
  );
};
