/** People, service accounts, tokens, keys, grants and sessions. */
import assert from 'node:assert/strict';
import type { Json, Scenario, Scene } from './scenario.ts';

const KEY_OF_MEMBER = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl';
const NO_USER = 'usr_00000000000000000000000001';
const NO_TOKEN = 'tok_00000000000000000000000000';

const memberOf = async ({ must, organization_id }: Scene, user_id: string): Promise<Json> => {
  const { items } = await must('owner', 'organizationMemberList', { params: { organization_id } });
  return items.find((one: Json) => one.user_id === user_id);
};

export const accessScenarios: readonly Scenario[] = [
  {
    name: 'an invitation makes its addressee a member, once, and a revoked one makes none',
    play: async (scene) => {
      const { must, refused, organization_id, users } = scene;
      const params = { organization_id };
      const body = { email: users.stranger.email.toUpperCase(), role: 'member' };
      await refused('permission_denied', 'member', 'invitationCreate', { params, body });
      const revoked = await must('owner', 'invitationCreate', { params, body });
      const at = ({ invitation }: Json) => ({ params: { ...params, invitation_id: String(invitation.id) } });
      await refused('permission_denied', 'member', 'invitationRevoke', at(revoked));
      await must('owner', 'invitationRevoke', at(revoked));
      await refused('conflict', 'owner', 'invitationRevoke', at(revoked));
      await refused('conflict', 'stranger', 'invitationAccept', { body: { token: revoked.token } });
      const made = await must('owner', 'invitationCreate', { params, body });
      assert.equal(made.invitation.email, users.stranger.email);
      const accept = { body: { token: made.token } };
      await refused('not_found', 'viewer', 'invitationAccept', accept);
      await must('stranger', 'invitationAccept', accept);
      await refused('conflict', 'stranger', 'invitationAccept', accept);
      await refused('conflict', 'owner', 'invitationRevoke', at(made));
      await must('stranger', 'organizationGet', { params });
      const member = { params: { ...params, user_id: users.stranger.id } };
      await must('owner', 'organizationMemberRemove', member);
      await refused('not_found', 'owner', 'organizationMemberRemove', member);
      await refused('not_found', 'stranger', 'organizationGet', { params });
    },
  },
  {
    name: 'an admin manages members, and only an owner manages owners',
    play: async (scene) => {
      const { must, refused, organization_id, users } = scene;
      const params = { organization_id, user_id: users.member.id };
      const { version } = await memberOf(scene, users.member.id);
      const blind = { params, body: { role: 'admin' } };
      const admin = { ...blind, if_match: version };
      await refused('precondition_required', 'owner', 'organizationMemberUpdate', blind);
      await refused('precondition_failed', 'owner', 'organizationMemberUpdate', { ...admin, if_match: version + 3 });
      await must('owner', 'organizationMemberUpdate', admin);
      const invite = { params: { organization_id }, body: { email: users.stranger.email, role: 'owner' } };
      await refused('permission_denied', 'member', 'invitationCreate', invite);
      const viewer = await memberOf(scene, users.viewer.id);
      const promote = { params: { organization_id, user_id: users.viewer.id }, body: { role: 'owner' } };
      await refused('permission_denied', 'member', 'organizationMemberUpdate', {
        ...promote,
        if_match: viewer.version,
      });
      const { version: of_owner } = await memberOf(scene, users.owner.id);
      const demote = { params: { organization_id, user_id: users.owner.id }, body: { role: 'member' } };
      await refused('permission_denied', 'member', 'organizationMemberUpdate', { ...demote, if_match: of_owner });
      await refused('permission_denied', 'member', 'organizationMemberRemove', { params: demote.params });
    },
  },
  {
    name: 'an organization is renamed by the version that was read',
    play: async ({ must, refused, organization_id }) => {
      const params = { organization_id };
      const { version } = await must('owner', 'organizationGet', { params });
      const body = { display_name: 'Renamed' };
      await refused('precondition_required', 'owner', 'organizationUpdate', { params, body });
      await refused('permission_denied', 'member', 'organizationUpdate', { params, body, if_match: version });
      await must('owner', 'organizationUpdate', { params, body, if_match: version });
      const late = { params, body, if_match: version };
      await refused('precondition_failed', 'owner', 'organizationUpdate', late);
      await refused('not_found', 'stranger', 'organizationUpdate', late);
    },
  },
  {
    name: 'a member of the organization is added to a project and removed from it',
    play: async ({ must, refused, organization_id, users }) => {
      const made = await must('owner', 'projectCreate', { params: { organization_id }, body: { name: 'shared-work' } });
      const project_id = String(made.id);
      const at = (user_id: string) => ({ params: { project_id, user_id } });
      await refused('not_found', 'member', 'projectGet', { params: { project_id } });
      await refused('not_found', 'owner', 'projectMemberPut', { ...at(users.stranger.id), body: { role: 'member' } });
      await must('owner', 'projectMemberPut', { ...at(users.member.id), body: { role: 'viewer' } });
      await must('member', 'projectGet', { params: { project_id } });
      await refused('permission_denied', 'member', 'projectMemberPut', {
        ...at(users.viewer.id),
        body: { role: 'admin' },
      });
      await must('owner', 'projectMemberPut', { ...at(users.member.id), body: { role: 'admin' } });
      await must('member', 'projectMemberPut', { ...at(users.viewer.id), body: { role: 'viewer' } });
      await must('owner', 'projectMemberRemove', at(users.member.id));
      await refused('not_found', 'owner', 'projectMemberRemove', at(users.member.id));
      await refused('not_found', 'owner', 'projectMemberRemove', at(NO_USER));
      await refused('not_found', 'member', 'projectGet', { params: { project_id } });
    },
  },
  {
    name: 'a service account gets tokens while it is enabled, and its secret is replaced',
    play: async ({ must, refused, project_id }) => {
      const params = { project_id };
      await refused('permission_denied', 'viewer', 'serviceAccountCreate', { params, body: { name: 'robot' } });
      const made = await must('owner', 'serviceAccountCreate', { params, body: { name: 'robot', description: 'CI' } });
      await refused('already_exists', 'owner', 'serviceAccountCreate', { params, body: { name: 'robot' } });
      const at = { params: { project_id, service_account_id: String(made.service_account.id) } };
      const { version } = await must('owner', 'serviceAccountGet', at);
      const disable = { ...at, body: { state: 'disabled' }, if_match: version };
      await refused('precondition_failed', 'owner', 'serviceAccountUpdate', { ...disable, if_match: version + 3 });
      const disabled = await must('owner', 'serviceAccountUpdate', disable);
      const token = { ...at, body: { name: 'night', scopes: ['read'], expires_in_s: 3600 } };
      await refused('conflict', 'owner', 'serviceAccountTokenCreate', token);
      const client_id = at.params.service_account_id;
      const credentials = (client_secret: string, over: object = {}) => ({
        body: { grant_type: 'client_credentials', client_id, client_secret, ...over },
      });
      const { client_secret: first } = made;
      await refused('unauthenticated', 'stranger', 'serviceAccountTokenIssue', credentials(first));
      const enable = { ...at, body: { state: 'enabled', description: 'Builds' }, if_match: disabled.version };
      await must('owner', 'serviceAccountUpdate', enable);
      await must('stranger', 'serviceAccountTokenIssue', credentials(first, { scope: 'read' }));
      const foreign = await refused(
        'invalid_request',
        'stranger',
        'serviceAccountTokenIssue',
        credentials(first, { scope: 'admin.node.read' }),
      );
      assert.match(foreign.detail, /None of the scopes/);
      await refused('permission_denied', 'viewer', 'serviceAccountSecretRotate', { ...at, body: {} });
      const rotated = await must('owner', 'serviceAccountSecretRotate', { ...at, body: {} });
      await refused('unauthenticated', 'stranger', 'serviceAccountTokenIssue', credentials(first));
      await must('stranger', 'serviceAccountTokenIssue', credentials(rotated.client_secret));
      const both = await must('owner', 'serviceAccountSecretRotate', { ...at, body: { overlap_s: 600 } });
      await must('stranger', 'serviceAccountTokenIssue', credentials(rotated.client_secret));
      await must('stranger', 'serviceAccountTokenIssue', credentials(both.client_secret));
      const { api_token } = await must('owner', 'serviceAccountTokenCreate', token);
      const revoke = (token_id: string) => ({ params: { ...at.params, token_id } });
      await must('owner', 'serviceAccountTokenRevoke', revoke(String(api_token.id)));
      await must('owner', 'serviceAccountTokenRevoke', revoke(String(api_token.id)));
      await refused('not_found', 'owner', 'serviceAccountTokenRevoke', revoke(NO_TOKEN));
      await must('owner', 'serviceAccountDelete', at);
      await refused('not_found', 'owner', 'serviceAccountGet', at);
      await refused('not_found', 'owner', 'serviceAccountTokenCreate', token);
      await refused('unauthenticated', 'stranger', 'serviceAccountTokenIssue', credentials(both.client_secret));
    },
  },
  {
    name: 'a personal token is bound to a project that its owner sees, and revoked twice is revoked once',
    play: async ({ must, refused, project_id }) => {
      const body = { name: 'laptop', scopes: ['read'], expires_in_s: 3600 };
      await refused('not_found', 'stranger', 'apiTokenCreate', { body: { ...body, project_id } });
      const { api_token } = await must('member', 'apiTokenCreate', { body: { ...body, project_id } });
      const params = { token_id: String(api_token.id) };
      await refused('not_found', 'owner', 'apiTokenRevoke', { params });
      await must('member', 'apiTokenRevoke', { params });
      await must('member', 'apiTokenRevoke', { params });
      await refused('not_found', 'member', 'apiTokenRevoke', { params: { token_id: NO_TOKEN } });
      await refused('invalid_request', 'member', 'apiTokenCreate', { body: { ...body, scopes: [] } });
    },
  },
  {
    name: 'an SSH key is granted to a running VM, and revoked',
    play: async ({ addNode, must, refused, active, settle }) => {
      await addNode('slice');
      const { at } = await active('shared');
      const key = await must('member', 'sshKeyCreate', { body: { name: 'laptop', public_key: KEY_OF_MEMBER } });
      const grant = { ...at, body: { ssh_key_id: String(key.id) } };
      await refused('permission_denied', 'viewer', 'accessGrantCreate', grant);
      await refused('not_found', 'stranger', 'accessGrantCreate', grant);
      const made = await must('member', 'accessGrantCreate', grant);
      await refused('already_exists', 'owner', 'accessGrantCreate', grant);
      await settle();
      const params = { ...at.params, access_grant_id: String(made.id) };
      await refused('permission_denied', 'viewer', 'accessGrantRevoke', { params });
      await must('owner', 'accessGrantRevoke', { params });
      await settle();
      await must('owner', 'accessGrantRevoke', { params });
      await must('owner', 'allocationRelease', { ...at, body: {} });
      await refused('conflict', 'member', 'accessGrantCreate', grant);
      await must('member', 'sshKeyDelete', { params: { ssh_key_id: String(key.id) } });
      await refused('not_found', 'member', 'sshKeyDelete', { params: { ssh_key_id: String(key.id) } });
      await refused('not_found', 'member', 'sshKeyGet', { params: { ssh_key_id: String(key.id) } });
    },
  },
  {
    name: 'a session is ended by its owner or a project admin',
    play: async ({ addNode, must, refused, active }) => {
      await addNode('slice');
      const { at } = await active('shell');
      const open = async () => {
        const { session_id } = await must('member', 'terminalTicketCreate', { ...at, body: { kind: 'terminal' } });
        return { params: { ...at.params, session_id: String(session_id) } };
      };
      const own = await open();
      await refused('permission_denied', 'viewer', 'terminalSessionClose', own);
      await must('member', 'terminalSessionClose', own);
      assert.equal((await must('member', 'terminalSessionGet', own)).end_reason, 'ended');
      await must('member', 'terminalSessionClose', own);
      const other = await open();
      await must('owner', 'terminalSessionClose', other);
      await must('member', 'terminalSessionGet', other);
      const none = { params: { ...at.params, session_id: 'ses_00000000000000000000000000' } };
      await refused('not_found', 'member', 'terminalSessionClose', none);
    },
  },
];
