/** Members of an organization or a project: one table with the dialogs to change a role and to remove a member. */
import type { GpuaasError } from '@gpuaas/sdk';
import { Group } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../ui/action-button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Ago } from '../../ui/time.tsx';
import { Person } from './person.tsx';

export type Member = Readonly<{
  user_id: string;
  name: string;
  email: string | null;
  role: string;
  created_at: string;
}>;

/** How a command names a person. */
export const memberWord = ({ email, user_id }: Pick<Member, 'email' | 'user_id'>): string => email ?? user_id;

export type MembersTableProps<M extends Member> = Readonly<{
  members: readonly M[];
  /** Header of the column with the time a member was added. */
  sinceHeader: string;
  updateRefusal(member: M): string | null;
  removeRefusal(member: M): string | null;
  roleForm(member: M, onDone: () => void): ReactNode;
  removal: Readonly<{
    from: string;
    consequence: string;
    change: Readonly<{ isRunning: boolean; error: GpuaasError | null; reset(): void }>;
    command(member: M): string;
    run(member: M): Promise<boolean>;
  }>;
}>;

export const MembersTable = <M extends Member>(props: MembersTableProps<M>) => {
  const [asked, setAsked] = useState<Readonly<{ what: 'role' | 'remove'; member: M }> | null>(null);
  const { removal } = props;
  const close = () => {
    setAsked(null);
    removal.change.reset();
  };
  const columns: readonly Column<M>[] = [
    { header: 'Name', cell: (member) => <Person {...member} /> },
    { header: 'Role', cell: ({ role }) => role },
    { header: props.sinceHeader, cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
    {
      header: 'Actions',
      isHeaderHidden: true,
      align: 'right',
      cell: (member) => (
        <Group gap={6} justify="flex-end">
          <ActionButton
            size="xs"
            variant="default"
            aria-label={`Change role of ${member.name}`}
            disabledReason={props.updateRefusal(member)}
            onClick={() => setAsked({ what: 'role', member })}
          >
            Change role
          </ActionButton>
          <ActionButton
            size="xs"
            variant="default"
            aria-label={`Remove ${member.name}`}
            disabledReason={props.removeRefusal(member)}
            onClick={() => setAsked({ what: 'remove', member })}
          >
            Remove
          </ActionButton>
        </Group>
      ),
    },
  ];
  const member = asked?.member ?? null;
  return (
    <>
      <DataTable label="Members" columns={columns} rows={props.members} rowKey={({ user_id }) => user_id} />
      <FormDialog title={`Change role of ${member?.name ?? ''}`} isOpen={asked?.what === 'role'} onClose={close}>
        {member !== null && props.roleForm(member, close)}
      </FormDialog>
      <ConfirmDialog
        title={`Remove ${member?.name ?? ''} from the ${removal.from}`}
        isOpen={asked?.what === 'remove'}
        onClose={close}
        confirmLabel="Remove"
        isDestructive
        isRunning={removal.change.isRunning}
        error={removal.change.error}
        command={() => (member === null ? '' : removal.command(member))}
        onConfirm={async () => member !== null && (await removal.run(member))}
      >
        {removal.consequence}
      </ConfirmDialog>
    </>
  );
};
