/**
 * Events, emitted after the commit of their transaction: one schema per event type, in a CloudEvents 1.0 envelope.
 * Events are hints and history, not the state: a consumer that missed one reads the resource.
 */
import Type, { type Static, type TObject } from 'typebox';
import { Closed, StringEnum } from '../common.ts';
import { Id } from '../ids.ts';
import { GRANT_STATES } from '../public/access-grant.ts';
import { NODE_STATES } from '../public/admin-node.ts';
import { ALLOCATION_STATES, POWER_STATES } from '../public/allocation.ts';
import { QUOTA_REQUEST_STATES } from '../public/quota-request.ts';
import { WORKFLOW_STATES } from '../public/workflow-run.ts';
import { PROJECT_ROLES, TENANT_ROLES } from '../roles.ts';

type EventDefinition = Readonly<{ summary: string; data: TObject }>;
const defineEvents = <const T extends Readonly<Record<string, EventDefinition>>>(events: T): T => events;

const named = { name: Type.String() };

export const events = defineEvents({
  'organization.created': {
    summary: 'An organization was created.',
    data: Closed({ organization_id: Id('organization'), ...named, kind: StringEnum(['personal', 'enterprise']) }),
  },
  'organization.updated': {
    summary: 'An organization changed.',
    data: Closed({ organization_id: Id('organization'), ...named }),
  },
  'organization.member.changed': {
    summary: 'A member joined or changed role.',
    data: Closed({ organization_id: Id('organization'), user_id: Id('user'), role: StringEnum(TENANT_ROLES) }),
  },
  'organization.member.removed': {
    summary: 'A member was removed or left.',
    data: Closed({ organization_id: Id('organization'), user_id: Id('user') }),
  },
  'invitation.created': {
    summary: 'An invitation was created.',
    data: Closed({ organization_id: Id('organization'), invitation_id: Id('invitation') }),
  },
  'invitation.revoked': {
    summary: 'An invitation was withdrawn.',
    data: Closed({ organization_id: Id('organization'), invitation_id: Id('invitation') }),
  },
  'project.created': { summary: 'A project was created.', data: Closed({ project_id: Id('project'), ...named }) },
  'project.updated': { summary: 'A project changed.', data: Closed({ project_id: Id('project'), ...named }) },
  'project.deleted': { summary: 'A project was deleted.', data: Closed({ project_id: Id('project'), ...named }) },
  'project.member.changed': {
    summary: 'A project member was added or changed role.',
    data: Closed({ project_id: Id('project'), user_id: Id('user'), role: StringEnum(PROJECT_ROLES) }),
  },
  'project.member.removed': {
    summary: 'A project member was removed.',
    data: Closed({ project_id: Id('project'), user_id: Id('user') }),
  },
  'service_account.created': {
    summary: 'A service account was created.',
    data: Closed({ service_account_id: Id('service_account'), ...named }),
  },
  'service_account.updated': {
    summary: 'A service account changed, or its secret was rotated.',
    data: Closed({ service_account_id: Id('service_account'), ...named, state: StringEnum(['enabled', 'disabled']) }),
  },
  'service_account.deleted': {
    summary: 'A service account was deleted.',
    data: Closed({ service_account_id: Id('service_account'), ...named }),
  },
  'allocation.changed': {
    summary: 'The state of an allocation changed.',
    data: Closed({
      allocation_id: Id('allocation'),
      ...named,
      state: StringEnum(ALLOCATION_STATES),
      state_reason: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  'allocation.power_changed': {
    summary: 'The power state of a slice changed.',
    data: Closed({
      allocation_id: Id('allocation'),
      ...named,
      power_state: StringEnum(POWER_STATES),
      power_reason: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  'allocation.notices_changed': {
    summary: 'Notices about the host of an allocation began or ended.',
    data: Closed({
      allocation_id: Id('allocation'),
      ...named,
      began: Type.Array(Type.String(), { description: 'Messages of the notices that began.' }),
      ended: Type.Array(Type.String(), { description: 'Messages of the notices that ended.' }),
    }),
  },
  'allocation.updated': {
    summary: 'Name, tags, protection or maximum duration of an allocation changed.',
    data: Closed({ allocation_id: Id('allocation'), ...named }),
  },
  'allocation.access_grant.changed': {
    summary: 'The state of an access grant changed.',
    data: Closed({
      access_grant_id: Id('access_grant'),
      allocation_id: Id('allocation'),
      user_id: Id('user'),
      state: StringEnum(GRANT_STATES),
    }),
  },
  'access_policy.updated': {
    summary: 'The access policy changed.',
    data: Closed({ organization_id: Id('organization') }),
  },
  'quota.requested': {
    summary: 'A tenant requested a larger GPU limit.',
    data: Closed({
      quota_request_id: Id('quota_request'),
      organization_id: Id('organization'),
      project_id: Type.Union([Id('project'), Type.Null()]),
      gpu_limit: Type.Integer(),
    }),
  },
  'quota.decided': {
    summary: 'A request for a larger GPU limit was approved, rejected or withdrawn.',
    data: Closed({
      quota_request_id: Id('quota_request'),
      organization_id: Id('organization'),
      project_id: Type.Union([Id('project'), Type.Null()]),
      state: StringEnum(QUOTA_REQUEST_STATES),
      granted_gpu_limit: Type.Union([Type.Integer(), Type.Null()]),
    }),
  },
  'node.changed': {
    summary: 'The state of a node changed.',
    data: Closed({
      node_id: Id('node'),
      ...named,
      state: StringEnum(NODE_STATES),
      state_reason: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  'node.launch_failures_changed': {
    summary: 'A launch failed on a host, or its failures were cleared.',
    data: Closed({
      node_id: Id('node'),
      ...named,
      launch_failures: Type.Integer({ minimum: 0 }),
      is_placement_stopped: Type.Boolean(),
      reason: Type.String(),
    }),
  },
  'node.drift_changed': {
    summary: 'The drift of a host changed: findings appeared, changed or were resolved.',
    data: Closed({
      node_id: Id('node'),
      ...named,
      findings: Type.Integer({ minimum: 0 }),
      codes: Type.Array(Type.String()),
    }),
  },
  'node.host_refused': {
    summary: 'A host that is not the host of the node presented its enrollment token or certificate.',
    data: Closed({
      node_id: Id('node'),
      ...named,
      operation: StringEnum(['enroll', 'renew']),
      reason: Type.String(),
    }),
  },
  'node.rebooted': {
    summary: 'A host booted since its agent was last seen.',
    data: Closed({ node_id: Id('node'), ...named }),
  },
  'workflow_run.changed': {
    summary: 'The state or step of a workflow run changed.',
    data: Closed({
      workflow_run_id: Id('workflow_run'),
      workflow: Type.String(),
      subject_id: Type.String(),
      step: Type.String(),
      state: StringEnum(WORKFLOW_STATES),
    }),
  },
});

export type EventType = keyof typeof events;
export type EventData<T extends EventType> = Static<(typeof events)[T]['data']>;
