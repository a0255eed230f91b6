/** An organization with its GPU limit, its owner and a default project, in the caller's transaction. */
import { mintId } from '@gpuaas/kit';
import type { WriteCtx } from '../context.ts';
import type { Tx } from '../db/client.ts';
import { isUniqueViolation } from '../db/errors.ts';
import { insertMembership, type OrganizationRow, organizationNameTaken } from '../db/organization.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { insertProject } from '../db/project.ts';
import { insertOrganization } from '../db/statements/new-organization.ts';
import { AppError } from '../errors.ts';

export type NewOrganization = Readonly<{
  id: string;
  name: string;
  display_name: string;
  kind: 'personal' | 'enterprise';
  created_by: string;
  /** Null for an owner who is invited. */
  owner_id: string | null;
  gpu_limit: number | null;
  /** By an operator; otherwise the limit follows from the sign-up policy. */
  is_limit_set?: true;
}>;

type Emit = WriteCtx['emit'];

export const createOrganization = async (
  tx: Tx,
  wanted: NewOrganization,
  emit: Emit,
): Promise<Readonly<{ organization: OrganizationRow; project_id: string }>> => {
  const { owner_id, ...row } = wanted;
  const project_id = mintId('prj');
  const organization = await insertOrganization(tx, row);
  if (organization === undefined) throw new AppError('internal', 'The organization was not created.');
  const { id, name, kind } = row;
  if (owner_id !== null) await insertMembership(tx, { organization_id: id, user_id: owner_id, role: 'owner' });
  await insertProject(tx, { id: project_id, organization_id: id, name: 'default', display_name: 'Default' });
  emit('organization.created', { subject: id, organization_id: id, data: { organization_id: id, name, kind } });
  emit('project.created', {
    subject: project_id,
    organization_id: id,
    project_id,
    data: { project_id, name: 'default' },
  });
  return { organization, project_id };
};

/** Events of a transaction that no operation runs: a sign-in. Await the result before the transaction ends. */
export const emitInto = (tx: Tx, correlation_id: string): Readonly<{ emit: Emit; sent(): Promise<unknown> }> => {
  const pending: Promise<void>[] = [];
  return {
    emit: (event_type, { subject, data, organization_id = null, project_id = null }) => {
      pending.push(insertOutboxEvent(tx, { event_type, subject, data, organization_id, project_id, correlation_id }));
      tx.wake();
    },
    sent: () => Promise.all(pending),
  };
};

/** A valid name from the address or the name, with a suffix when it is taken. */
const personalName = async (tx: Tx, person: Readonly<{ name: string; email: string | null }>): Promise<string> => {
  const base =
    (person.email?.split('@')[0] ?? person.name)
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 50)
      .replace(/-+$/, '') || 'personal';
  return (await organizationNameTaken(tx, base)) ? `${base}-${mintId('x').slice(-8)}` : base;
};

/** Only in the platform scope. Another one may take the name meanwhile: see `isNameTaken`. */
export const createPersonalOrganization = async (
  tx: Tx,
  person: Readonly<{ id: string; name: string; email: string | null }>,
  gpu_limit: number | null,
  emit: Emit,
): Promise<Readonly<{ organization: OrganizationRow; project_id: string }>> =>
  createOrganization(
    tx,
    {
      id: mintId('org'),
      name: await personalName(tx, person),
      display_name: person.name,
      kind: 'personal',
      created_by: person.id,
      owner_id: person.id,
      gpu_limit,
    },
    emit,
  );

/** Another organization took the name between the check and the insert. */
export const isNameTaken = (err: unknown): boolean => isUniqueViolation(err, 'organizations_name_key');
