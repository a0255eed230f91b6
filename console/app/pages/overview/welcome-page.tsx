/** First steps for a user without a project. The home page redirects once there is one. */
import { NativeSelect, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useChange } from '../../api/change.ts';
import { useMay, useMe } from '../../api/me.tsx';
import { command } from '../../format/shell.ts';
import { nameProblem } from '../../rules/name.ts';
import { Page, Section } from '../../ui/page.tsx';
import { SectionForm } from '../../ui/section-form.tsx';
import { AcceptInvitation } from '../access/accept-invitation.tsx';

const NewProject = () => {
  const me = useMe();
  const whyNot = useMay();
  const change = useChange('projectCreate');
  const form = useForm({ initialValues: { name: '', organizationId: me.organizations[0]?.id ?? '' } });
  const { name, organizationId } = form.getValues();
  return (
    <Section title="Create project">
      <SectionForm
        submitLabel="Create project"
        missing={whyNot('project.create', { organization: organizationId }) ?? nameProblem(name)}
        isRunning={change.isRunning}
        error={change.error}
        command={command(['project', 'create', name || 'research'], [['org', organizationId]])}
        onSubmit={() => change.run({ params: { organization_id: organizationId }, body: { name } })}
      >
        {me.organizations.length > 1 && (
          <NativeSelect
            label="Organization"
            data={me.organizations.map(({ id, display_name }) => ({ value: id, label: display_name }))}
            {...form.getInputProps('organizationId')}
          />
        )}
        <TextInput
          label="Project name"
          description="Lower-case letters, digits and hyphens. A project groups allocations, members and costs."
          autoComplete="off"
          spellCheck={false}
          {...form.getInputProps('name')}
        />
      </SectionForm>
    </Section>
  );
};

const NewOrganization = () => {
  const change = useChange('organizationCreate');
  const form = useForm({ initialValues: { name: '' } });
  const { name } = form.getValues();
  return (
    <Section title="Create organization">
      <SectionForm
        submitLabel="Create organization"
        missing={nameProblem(name)}
        isRunning={change.isRunning}
        error={change.error}
        command={command(['organization', 'create', name || 'research'])}
        onSubmit={() => change.run({ body: { name } })}
      >
        <TextInput
          label="Organization name"
          description="Lower-case letters, digits and hyphens. You become the owner and get a first project."
          autoComplete="off"
          spellCheck={false}
          {...form.getInputProps('name')}
        />
      </SectionForm>
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
