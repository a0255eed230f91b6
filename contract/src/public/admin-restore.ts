import Type from 'typebox';
import { Closed, Nullable, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { node } from './admin-node.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

const Ended = Type.Integer({ minimum: 0 });

const Restore = Closed({
  id: Id('restore'),
  began_at: Time('When it was recorded.'),
  began_by: Type.String(),
  reason: Type.String(),
  older_than: Time('Credentials, sessions and tickets created before this time ended.'),
  ended: Closed(
    {
      api_tokens: Ended,
      service_account_secrets: Ended,
      web_sessions: Ended,
      terminal_sessions: Ended,
      invitations: Ended,
      enrollments: Ended,
      node_certificates: Ended,
    },
    { description: 'How many of each were ended.' },
  ),
  lost_changes: Type.Array(
    Closed({
      organization_id: Nullable(Type.String({ description: 'Null for changes of the platform.' })),
      audit_rows: Type.Integer({ minimum: 1 }),
    }),
    {
      description:
        'Audited changes since the backup, identity changes among them, by organization. Their number is known from the signed heads ' +
        'of the audit log outside the database; what the others were is in the event stream and in shipped logs.',
    },
  ),
  identity_changes: Type.Array(
    Closed({
      at: Time('When it was changed.'),
      action: Type.String({ examples: ['organization.member.remove'] }),
      target_kind: Nullable(Type.String()),
      target_id: Nullable(Type.String()),
      actor_id: Nullable(Type.String()),
      organization_id: Nullable(Type.String({ description: 'Null for changes of the platform.' })),
    }),
    {
      description:
        'Changes of members, credentials, keys and certificates since the backup, oldest first, from the file beside the heads ' +
        'of the audit log. None of them is in the restored database: repeat the removals.',
    },
  ),
});

/** The newest restore of the database from a backup, if there was one, and the nodes that wait for an operator. */
export const RestoreStatus = Closed({
  restore: Nullable(Restore),
  held_nodes: Type.Array(
    Closed({
      node_id: Id('node'),
      name: Type.String(),
      inventory_at: Nullable(Time('The last inventory report since the restore; null without one.')),
      findings: Type.Integer({ minimum: 0, description: 'Differences between the host and the claims.' }),
      ssh_keys: Type.Array(
        Closed({
          allocation_id: Id('allocation'),
          user_id: Type.String(),
          user_name: Type.String(),
          fingerprint: Type.String(),
        }),
        {
          description:
            'Keys that the restored database would install again on allocations of the node, those of the launch and grants. ' +
            'A key that was revoked since the backup is among them.',
        },
      ),
    }),
    { description: 'Nodes that get no task that destroys data or installs keys until an operator releases them.' },
  ),
});

const read = operatorReads('Nodes');
const change = operatorChanges('Nodes');

export const adminRestoreApi = define({
  adminRestoreGet: {
    ...read,
    path: '/api/v1/admin/restore',
    summary: 'Get the newest restore, with the nodes whose destructive tasks are held',
    permission: 'admin.trust.read',
    response: RestoreStatus,
  },
  adminRestoreBegin: {
    ...change,
    path: '/api/v1/admin/restore',
    summary: 'Record that the database was restored: end older credentials and hold destructive tasks',
    permission: 'admin.trust.update',
    audit: 'restore.begin',
    freshSignIn: true,
    body: Closed({
      older_than: Type.Optional(Time('End credentials, sessions and tickets created before this time (default: now).')),
      ends_certificates: Type.Optional(
        Type.Boolean({
          description:
            'End also the older certificates of nodes, where one was revoked since the backup (default false). Every node is enrolled again.',
        }),
      ),
      reason: Reason,
    }),
    status: 201,
    response: RestoreStatus,
  },
  adminNodeRestoreRelease: {
    ...change,
    path: '/api/v1/admin/nodes/{node_id}/restore-release',
    summary: 'Release the held destructive tasks of a node after comparing the host with the claims',
    permission: 'admin.trust.update',
    audit: 'node.restore_release',
    freshSignIn: true,
    params: node,
    body: Closed({
      accepts_findings: Type.Optional(
        Type.Boolean({ description: 'Release although the last inventory report has findings (default false).' }),
      ),
      reason: Reason,
    }),
    status: 200,
    response: RestoreStatus,
    errors: ['conflict'],
  },
});
