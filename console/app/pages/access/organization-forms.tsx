import type { Organization } from '@gpuaas/sdk';
import { useNavigate } from '@tanstack/react-router';
import { useChange } from '../../api/change.ts';
import { command } from '../../format/shell.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { NamedForm, RenameForm } from './named-form.tsx';

const NewOrganizationForm = ({
  onCreated,
  onCancel,
}: Readonly<{ onCreated(organization: Organization): void; onCancel(): void }>) => {
  const create = useChange('organizationCreate');
  return (
    <>
      <p className="muted" style={{ marginTop: 0 }}>
        The organization starts with a project named default. You become its owner.
      </p>
      <NamedForm
        unique="on the platform"
        change={create}
        command={(name, shown) => command(['organization', 'create', name], [['display-name', shown]])}
        onSubmit={async (body) => {
          const answer = await create.run({ body });
          if (answer !== null) onCreated(answer.data);
        }}
        onCancel={onCancel}
      />
    </>
  );
};

/** Creates an organization and opens its page. */
export const NewOrganizationDialog = ({ isOpen, onClose }: Readonly<{ isOpen: boolean; onClose(): void }>) => {
  const navigate = useNavigate();
  return (
    <FormDialog title="New organization" isOpen={isOpen} onClose={onClose}>
      <NewOrganizationForm
        onCancel={onClose}
        onCreated={({ id }) => {
          onClose();
          void navigate({ to: '/organizations/$organizationId', params: { organizationId: id }, search: {} });
        }}
      />
    </FormDialog>
  );
};

export const RenameOrganizationForm = ({
  organization,
  onDone,
}: Readonly<{ organization: Organization; onDone(): void }>) => {
  const update = useChange('organizationUpdate');
  return (
    <RenameForm
      now={organization.display_name}
      change={update}
      command={(shown) =>
        command(
          ['organization', 'update'],
          [
            ['display-name', shown],
            ['org', organization.name],
          ],
        )
      }
      onSubmit={async (display_name) => {
        const answer = await update.run(
          { params: { organization_id: organization.id }, body: { display_name } },
          { ifMatch: organization.version },
        );
        if (answer !== null) onDone();
      }}
      onCancel={onDone}
    />
  );
};
