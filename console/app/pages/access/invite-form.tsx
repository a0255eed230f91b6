import { Select, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useChange } from '../../api/change.ts';
import { useMe } from '../../api/me.tsx';
import { command } from '../../format/shell.ts';
import { DialogForm } from '../../ui/form-dialog.tsx';
import type { Secret } from '../../ui/secret-view.tsx';
import { RoleChoice } from './role-choice.tsx';
import { grantableRoles, type TenantRole } from './roles.ts';
import { useOrganizationFlag } from './use-cli-scope.ts';

const EXPIRIES = [
  { value: '1d', label: '1 day', seconds: 86_400 },
  { value: '7d', label: '7 days', seconds: 604_800 },
  { value: '30d', label: '30 days (maximum)', seconds: 2_592_000 },
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
  const form = useForm<{ email: string; role: TenantRole; expiry: string }>({
    initialValues: { email: '', role: 'member', expiry: '7d' },
  });
  const { role, expiry } = form.getValues();
  const email = form.getValues().email.trim();
  const submit = async () => {
    const expires_in_s = EXPIRIES.find(({ value }) => value === expiry)?.seconds;
    const answer = await create.run({
      params: { organization_id: organizationId },
      body: { email, role, ...(expires_in_s === undefined ? {} : { expires_in_s }) },
    });
    if (answer === null) return;
    onInvited({
      title: `Invitation for ${email}`,
      name: 'invitation token',
      value: answer.data.token,
      facts: [['Command', command(['invitation', 'accept', answer.data.token])]],
      explanation: (
        <>
          The platform sends no email. Send the token to the person. They sign in as {email} and accept the invitation
          under Settings, Profile, or with the command.
        </>
      ),
    });
  };
  return (
    <DialogForm
      submitLabel="Invite"
      missing={
        email === '' ? 'Enter an email address.' : ADDRESS.test(email) ? null : 'The email address is not valid.'
      }
      isRunning={create.isRunning}
      error={create.error}
      command={command(['invitation', 'create', email || 'ADDRESS'], [['role', role], ['expires-in', expiry], org])}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <TextInput
        label="Email address"
        description="Only a person signed in with this address can accept the invitation."
        type="email"
        maxLength={254}
        autoComplete="off"
        data-autofocus
        {...form.getInputProps('email')}
      />
      <RoleChoice<TenantRole>
        roles={grantableRoles(me, organizationId)}
        value={role}
        onChange={(next) => form.setFieldValue('role', next)}
      />
      <Select
        label="Expires after"
        data={EXPIRIES.map(({ value, label }) => ({ value, label }))}
        allowDeselect={false}
        {...form.getInputProps('expiry')}
      />
    </DialogForm>
  );
};
