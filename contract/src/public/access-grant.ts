/** Whose SSH keys open an allocation beside those of its launch: one member of the project, one key of theirs. */
import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';

/**
 * `pending`: being installed, or waiting until the VM is on. `installed`: the VM has the key. `failed`: the key could not be
 * installed; the reason states why, and granting it again retries. `revoking`: being removed, retried until the VM confirms.
 */
export const GRANT_STATES = ['pending', 'installed', 'failed', 'revoking', 'revoked'] as const;

export const AccessGrant = Closed({
  id: Id('access_grant'),
  allocation_id: Id('allocation'),
  user_id: Id('user', 'Owner of the key.'),
  user_name: Type.String(),
  ssh_key_id: Id('ssh_key'),
  fingerprint: Type.String({ description: 'SHA256:… as ssh-keygen -l prints it.' }),
  state: StringEnum(GRANT_STATES),
  state_reason: Nullable(Type.String()),
  granted_by: Type.String(),
  correlation_id: Type.String(),
  created_at: Time('When it was granted.'),
  installed_at: Nullable(Time('When it was installed on the VM.')),
  revoked_at: Nullable(Time('When it was revoked.')),
});

const params = Closed({ project_id: Id('project'), allocation_id: Id('allocation') });
const path = '/api/v1/projects/{project_id}/allocations/{allocation_id}/access-grants';
const tag = 'Access';

export const accessGrantApi = define({
  accessGrantList: {
    method: 'GET',
    path,
    tag,
    summary: 'List SSH keys granted on an allocation after launch',
    access: 'project',
    permission: 'allocation.read',
    audit: null,
    idempotency: 'none',
    params,
    query: Closed({ ...PageQuery }),
    status: 200,
    response: Page(AccessGrant),
  },
  accessGrantCreate: {
    method: 'POST',
    path,
    tag,
    summary: 'Grant an SSH key of a project member access to an allocation',
    description:
      'Your own key or, for project admins, a key of any member. An active VM receives it immediately; ' +
      'a VM that is provisioning or off receives it when it starts. An allocation accepts at most 100 keys. ' +
      'A grant ends with the allocation, and when its owner leaves the project or deletes the key.',
    access: 'project',
    permission: 'allocation.grant.create',
    audit: 'allocation.access_grant.create',
    idempotency: 'required',
    params,
    body: Closed({
      ssh_key_id: Id('ssh_key'),
    }),
    status: 201,
    response: AccessGrant,
    errors: ['conflict', 'already_exists'],
  },
  accessGrantRevoke: {
    method: 'DELETE',
    path: `${path}/{access_grant_id}`,
    tag,
    summary: 'Revoke a grant and remove the key from the VM',
    description:
      'Allowed for the owner of the key, the user who granted it, and project admins. Open connections stay open.',
    access: 'project',
    permission: 'allocation.grant.create',
    audit: 'allocation.access_grant.revoke',
    idempotency: 'none',
    params: Closed({ ...params.properties, access_grant_id: Id('access_grant') }),
    status: 202,
    location: path,
    response: AccessGrant,
  },
});
