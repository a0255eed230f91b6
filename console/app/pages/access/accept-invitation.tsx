/** Joins the organization of an invitation, by its token. */
import { INVITATION_TOKEN_PATTERN } from '@gpuaas/sdk';
import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useChange } from '../../api/change.ts';
import { command } from '../../format/shell.ts';
import { Section } from '../../ui/page.tsx';
import { SectionForm } from '../../ui/section-form.tsx';

const TOKEN = new RegExp(INVITATION_TOKEN_PATTERN);

const problemOf = (token: string): string | null => {
  if (token === '') return 'Enter the token.';
  return TOKEN.test(token) ? null : 'The invitation token is not valid.';
};

export const AcceptInvitation = ({ onAccepted }: Readonly<{ onAccepted?(organizationId: string): void }>) => {
  const accept = useChange('invitationAccept');
  const form = useForm({ initialValues: { token: '' } });
  const token = form.getValues().token.trim();
  const submit = async () => {
    const answer = await accept.run({ body: { token } });
    if (answer === null) return;
    form.reset();
    onAccepted?.(answer.data.id);
  };
  return (
    <Section title="Accept invitation">
      <SectionForm
        submitLabel="Accept"
        missing={problemOf(token)}
        isRunning={accept.isRunning}
        error={accept.error}
        command={command(['invitation', 'accept', token || 'TOKEN'])}
        onSubmit={submit}
      >
        <TextInput
          label="Invitation token"
          description="You get the token from the person who invited you. It is valid for the invited email address only."
          autoComplete="off"
          spellCheck={false}
          {...form.getInputProps('token')}
        />
      </SectionForm>
    </Section>
  );
};
