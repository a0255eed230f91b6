/** Projects of an organization: create, rename and delete. */
import type { Project } from '@gpuaas/sdk';
import { Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton, whyNot } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { NamedForm, RenameForm } from './named-form.tsx';
import { ProjectRecordingForm } from './project-recording-form.tsx';
import { useOrganizationFlag } from './use-cli-scope.ts';

type OpenDialog =
  | Readonly<{ what: 'create' }>
  | Readonly<{ what: 'rename' | 'recording' | 'delete'; project: Project }>;

export const Projects = ({ organizationId }: Readonly<{ organizationId: string }>) => {
  const projects = useAll('projectList', { params: { organization_id: organizationId } });
  const refusal = useMay()('project.create', { organization: organizationId });
  const [asked, setAsked] = useState<OpenDialog | null>(null);
  const columns: readonly Column<Project>[] = [
    {
      header: 'Project',
      cell: ({ id, name, display_name }) => (
        <>
          <Link className="link" to="/projects/$projectId" params={{ projectId: id }}>
            {display_name}
          </Link>
          {display_name !== name && <div className="muted mono">{name}</div>}
        </>
      ),
    },
    { header: 'Created', cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
    {
      header: 'Actions',
      isHeaderHidden: true,
      align: 'right',
      cell: (project) => (
        <Group gap={6} justify="flex-end">
          <ActionButton
            size="xs"
            variant="default"
            aria-label={`Rename ${project.name}`}
            disabledReason={whyNot(project.actions, 'update')}
            onClick={() => setAsked({ what: 'rename', project })}
          >
            Rename
          </ActionButton>
          <ActionButton
            size="xs"
            variant="default"
            aria-label={`Recording of ${project.name}`}
            disabledReason={whyNot(project.actions, 'update')}
            onClick={() => setAsked({ what: 'recording', project })}
          >
            Recording
          </ActionButton>
          <ActionButton
            size="xs"
            variant="default"
            aria-label={`Delete ${project.name}`}
            disabledReason={whyNot(project.actions, 'delete')}
            onClick={() => setAsked({ what: 'delete', project })}
          >
            Delete
          </ActionButton>
        </Group>
      ),
    },
  ];
  return (
    <Section
      title="Projects"
      flush
      actions={
        <ActionButton disabledReason={refusal} onClick={() => setAsked({ what: 'create' })}>
          New project
        </ActionButton>
      }
    >
      <Async of={projects} label="Projects">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No accessible projects">
              A project groups allocations, members and costs. Create a project, or ask an organization admin to add you
              to one.
            </EmptyState>
          ) : (
            <DataTable label="Projects" columns={columns} rows={rows} rowKey={({ id }) => id} />
          )
        }
      </Async>
      <ProjectDialogs organizationId={organizationId} asked={asked} onClose={() => setAsked(null)} />
    </Section>
  );
};

const ProjectDialogs = ({
  organizationId,
  asked,
  onClose,
}: Readonly<{ organizationId: string; asked: OpenDialog | null; onClose(): void }>) => {
  const create = useChange('projectCreate');
  const update = useChange('projectUpdate');
  const remove = useChange('projectDelete');
  const org = useOrganizationFlag(organizationId);
  const project = asked === null || asked.what === 'create' ? null : asked.project;
  const close = () => {
    for (const change of [create, update, remove]) change.reset();
    onClose();
  };
  return (
    <>
      <FormDialog title="New project" isOpen={asked?.what === 'create'} onClose={close}>
        <NamedForm
          unique="in the organization"
          change={create}
          command={(name, shown) => command(['project', 'create', name], [['display-name', shown], org])}
          onSubmit={async (body) => {
            const answer = await create.run({ params: { organization_id: organizationId }, body });
            if (answer !== null) close();
          }}
          onCancel={close}
        />
      </FormDialog>
      <FormDialog title={`Rename ${project?.name ?? ''}`} isOpen={asked?.what === 'rename'} onClose={close}>
        {project !== null && (
          <RenameForm
            now={project.display_name}
            change={update}
            command={(shown) => command(['project', 'update', project.name], [['display-name', shown], org])}
            onSubmit={async (display_name) => {
              const request = { params: { project_id: project.id }, body: { display_name } };
              if ((await update.run(request, { ifMatch: project.version })) !== null) close();
            }}
            onCancel={close}
          />
        )}
      </FormDialog>
      <FormDialog title={`Recording of ${project?.name ?? ''}`} isOpen={asked?.what === 'recording'} onClose={close}>
        {project !== null && (
          <ProjectRecordingForm
            now={project}
            change={update}
            command={({ records_terminals, requires_recording }) =>
              command(
                ['project', 'update', project.name],
                [
                  ['record-terminals', records_terminals ? 'yes' : 'no'],
                  ['require-recording', requires_recording ? 'yes' : 'no'],
                  org,
                ],
              )
            }
            onSubmit={async (body) => {
              const request = { params: { project_id: project.id }, body };
              if ((await update.run(request, { ifMatch: project.version })) !== null) close();
            }}
            onCancel={close}
          />
        )}
      </FormDialog>
      <ConfirmDialog
        title={`Delete ${project?.name ?? ''}`}
        isOpen={asked?.what === 'delete'}
        onClose={close}
        confirmLabel="Delete"
        isDestructive
        typeToConfirm={project?.name}
        isRunning={remove.isRunning}
        error={remove.error}
        command={() => command(['project', 'delete', project?.name ?? ''], [org, ['yes', true]])}
        onConfirm={async () => project !== null && (await remove.run({ params: { project_id: project.id } })) !== null}
      >
        Release its allocations and delete its service accounts first. Audit entries are kept. This cannot be undone.
      </ConfirmDialog>
    </>
  );
};
