/** First steps for a user without a project. The home page redirects once there is one. */
import { Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay, useMe } from '../../api/me.tsx';
import { command } from '../../format/shell.ts';
import { nameProblem } from '../../rules/name.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ErrorPanel, type ShownError } from '../../ui/error-panel.tsx';
import { Page, Section } from '../../ui/page.tsx';

/** One field, a button and the error of the last attempt. */
const FirstForm = ({
  label,
  description,
  value,
  onValue,
  before,
  button,
  problem,
  isRunning,
  error,
  cli,
  onSubmit,
}: Readonly<{
  label: string;
  description: string;
  value: string;
  onValue(value: string): void;
  before?: ReactNode;
  button: string;
  problem: string | null;
  isRunning: boolean;
  error: ShownError | null;
  cli: string;
  onSubmit(): Promise<unknown>;
}>) => (
  <form
    onSubmit={(event: FormEvent) => {
      event.preventDefault();
      if (problem === null) void onSubmit();
    }}
  >
    <Stack gap="sm" maw={520}>
      {before}
      <TextInput
        label={label}
        description={description}
        value={value}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onValue(event.currentTarget.value)}
      />
      {error !== null && <ErrorPanel error={error} />}
      <Group>
        <ActionButton type="submit" loading={isRunning} disabledReason={problem}>
          {button}
        </ActionButton>
      </Group>
      <CliCommand command={cli} />
    </Stack>
  </form>
);

const NewProject = () => {
  const me = useMe();
  const whyNot = useMay();
  const [name, setName] = useState('');
  const [organizationId, setOrganizationId] = useState(me.organizations[0]?.id ?? '');
  const change = useChange('projectCreate');
  return (
    <Section title="Create project">
      <FirstForm
        label="Project name"
        description="Lower-case letters, digits and hyphens. A project groups allocations, members and costs."
        value={name}
        onValue={setName}
        before={
          me.organizations.length > 1 && (
            <NativeSelect
              label="Organization"
              data={me.organizations.map(({ id, display_name }) => ({ value: id, label: display_name }))}
              value={organizationId}
              onChange={(event) => setOrganizationId(event.currentTarget.value)}
            />
          )
        }
        button="Create project"
        problem={whyNot('project.create', { organization: organizationId }) ?? nameProblem(name)}
        isRunning={change.isRunning}
        error={change.error}
        cli={command(['project', 'create', name || 'research'], [['org', organizationId]])}
        onSubmit={() => change.run({ params: { organization_id: organizationId }, body: { name } })}
      />
    </Section>
  );
};

const NewOrganization = () => {
  const [name, setName] = useState('');
  const change = useChange('organizationCreate');
  return (
    <Section title="Create organization">
      <FirstForm
        label="Organization name"
        description="Lower-case letters, digits and hyphens. You become the owner and get a first project."
        value={name}
        onValue={setName}
        button="Create organization"
        problem={nameProblem(name)}
        isRunning={change.isRunning}
        error={change.error}
        cli={command(['organization', 'create', name || 'research'])}
        onSubmit={() => change.run({ body: { name } })}
      />
    </Section>
  );
};

const AcceptInvitation = () => {
  const [token, setToken] = useState('');
  const change = useChange('invitationAccept');
  return (
    <Section title="Accept invitation">
      <FirstForm
        label="Invitation token"
        description="You get the token from the person who invited you. It is valid for your email address only."
        value={token}
        onValue={setToken}
        button="Accept"
        problem={token.trim() === '' ? 'Enter the token.' : null}
        isRunning={change.isRunning}
        error={change.error}
        cli={command(['invitation', 'accept', 'TOKEN'])}
        onSubmit={() => change.run({ body: { token: token.trim() } })}
      />
    </Section>
  );
};

export const WelcomePage = () => {
  const me = useMe();
  const organization = me.organizations[0];
  return (
    <Page
      title={`Welcome, ${me.name}`}
      subtitle={
        organization === undefined
          ? 'You are not in an organization. Accept an invitation or create an organization.'
          : 'You are not in a project. Create a project, or ask an admin to add you to one.'
      }
    >
      {organization === undefined ? <NewOrganization /> : <NewProject />}
      <AcceptInvitation />
    </Page>
  );
};
