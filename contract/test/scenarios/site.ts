/** What operators decide for the whole site: organizations, quotas, users, sign-up, and the nodes that they add. */
import assert from 'node:assert/strict';
import { actionReason, type Scenario } from './scenario.ts';

export const siteScenarios: readonly Scenario[] = [
  {
    name: 'a group is mapped to an organization or a project of it, once',
    play: async ({ must, refused, organization_id, project_id, region_name }) => {
      const body = { group: `/${region_name}`, organization_id, project_id, role: 'member' };
      await refused('permission_denied', 'owner', 'adminGroupMappingCreate', { body });
      const nowhere = { ...body, organization_id: 'org_00000000000000000000000001' };
      await refused('not_found', 'operator', 'adminGroupMappingCreate', { body: nowhere });
      const foreign = { ...body, project_id: 'prj_00000000000000000000000001' };
      await refused('not_found', 'operator', 'adminGroupMappingCreate', { body: foreign });
      const made = await must('operator', 'adminGroupMappingCreate', { body });
      await refused('already_exists', 'operator', 'adminGroupMappingCreate', { body });
      await must('operator', 'adminGroupSync');
      const params = { group_mapping_id: String(made.id) };
      await must('operator', 'adminGroupMappingDelete', { params });
      await refused('not_found', 'operator', 'adminGroupMappingDelete', { params });
    },
  },
  {
    name: 'an operator creates an organization for a user, or invites its owner',
    play: async ({ must, refused, users, region_name }) => {
      const name = `made-${region_name}`;
      const body = { name, gpu_limit: 4 };
      await refused('permission_denied', 'owner', 'adminOrganizationCreate', {
        body: { ...body, owner_user_id: users.stranger.id },
      });
      await refused('invalid_request', 'operator', 'adminOrganizationCreate', { body });
      const both = { ...body, owner_user_id: users.stranger.id, owner_email: users.stranger.email };
      await refused('invalid_request', 'operator', 'adminOrganizationCreate', { body: both });
      const nobody = { ...body, owner_user_id: 'usr_00000000000000000000000001' };
      await refused('not_found', 'operator', 'adminOrganizationCreate', { body: nobody });
      const owned = { body: { ...body, owner_user_id: users.stranger.id } };
      const made = await must('operator', 'adminOrganizationCreate', owned);
      await refused('already_exists', 'operator', 'adminOrganizationCreate', owned);
      await must('stranger', 'organizationGet', { params: { organization_id: String(made.organization.id) } });
      const invited = await must('operator', 'adminOrganizationCreate', {
        body: { name: `${name}-b`, owner_email: users.viewer.email },
      });
      await must('viewer', 'invitationAccept', { body: { token: invited.token } });
      const { items } = await must('operator', 'adminQuotaList', {
        query: { organization_id: String(made.organization.id) },
      });
      assert.equal(items[0].gpu_limit, 4);
    },
  },
  {
    name: 'a quota request for a project is withdrawn or rejected, and asked again after',
    play: async ({ must, refused, organization_id, project_id }) => {
      const params = { organization_id };
      const limit = { organization_id, project_id, gpu_limit: 2 };
      await refused('permission_denied', 'owner', 'adminQuotaPut', { body: limit, if_match: 1 });
      await refused('precondition_failed', 'operator', 'adminQuotaPut', { body: limit, if_match: 9 });
      await must('operator', 'adminQuotaPut', { body: limit, if_match: 1 });
      const body = { project_id, gpu_limit: 8, reason: 'A larger run' };
      const small = { ...body, gpu_limit: 2 };
      await refused('conflict', 'owner', 'quotaRequestCreate', { params, body: small });
      const unknown = { ...body, project_id: 'prj_00000000000000000000000000' };
      await refused('not_found', 'owner', 'quotaRequestCreate', { params, body: unknown });
      const first = await must('owner', 'quotaRequestCreate', { params, body });
      const at = { params: { ...params, quota_request_id: String(first.id) } };
      await refused('permission_denied', 'member', 'quotaRequestWithdraw', at);
      await must('owner', 'quotaRequestWithdraw', at);
      await refused('conflict', 'owner', 'quotaRequestWithdraw', at);
      const second = await must('owner', 'quotaRequestCreate', { params, body });
      const reject = { params: { quota_request_id: String(second.id) }, body: { reason: 'No hosts are free' } };
      await refused('permission_denied', 'owner', 'adminQuotaRequestReject', reject);
      await must('operator', 'adminQuotaRequestReject', reject);
      await refused('conflict', 'operator', 'adminQuotaRequestApprove', { params: reject.params, body: {} });
      const third = await must('owner', 'quotaRequestCreate', { params, body });
      await must('operator', 'adminQuotaRequestApprove', { params: { quota_request_id: String(third.id) }, body: {} });
      assert.equal((await must('owner', 'quotaGet', { params: { project_id } })).project.gpu_limit, 8);
    },
  },
  {
    name: 'a site that is closed creates no organizations for its users',
    play: async ({ must, refused, region_name }) => {
      const policy = await must('operator', 'adminSitePolicyGet');
      const close = { body: { sign_up: 'closed', contact: 'ops@example.com' }, if_match: policy.version };
      await refused('permission_denied', 'owner', 'adminSitePolicyUpdate', close);
      await refused('precondition_required', 'operator', 'adminSitePolicyUpdate', { body: close.body });
      const closed = await must('operator', 'adminSitePolicyUpdate', close);
      await refused('precondition_failed', 'operator', 'adminSitePolicyUpdate', {
        ...close,
        if_match: closed.version + 5,
      });
      await refused('policy_denied', 'stranger', 'organizationCreate', {
        body: { name: `late-${region_name}` },
      });
      const { sign_up, contact } = policy;
      await must('operator', 'adminSitePolicyUpdate', { body: { sign_up, contact }, if_match: closed.version });
    },
  },
  {
    name: 'a user is disabled and enabled by an operator with the version that was read',
    play: async ({ must, refused, users }) => {
      const params = { user_id: users.stranger.id };
      const { version } = await must('operator', 'adminUserGet', { params });
      const disable = { params, body: { state: 'disabled' }, if_match: version };
      await refused('permission_denied', 'owner', 'adminUserUpdate', disable);
      await refused('fresh_sign_in_required', 'stale_operator', 'adminUserUpdate', disable);
      await refused('precondition_failed', 'operator', 'adminUserUpdate', { ...disable, if_match: version + 4 });
      const disabled = await must('operator', 'adminUserUpdate', disable);
      await must('operator', 'adminUserUpdate', { params, body: { state: 'active' }, if_match: disabled.version });
    },
  },
  {
    name: 'a new node waits for its agent, and cannot drain until it is active',
    play: async ({ must, refused, region_name }) => {
      const body = {
        name: `node-${region_name}-new`,
        region_name,
        gpu_model: 'H200 SXM',
        gpu_count: 8,
        capacity_mode: 'slice',
        host: { product_serial: 'SCENE-NODE-1' },
      };
      await refused('permission_denied', 'owner', 'adminNodeCreate', { body });
      await refused('invalid_request', 'operator', 'adminNodeCreate', { body: { ...body, region_name: 'nowhere' } });
      await refused('invalid_request', 'operator', 'adminNodeCreate', { body: { ...body, pool_name: 'no-such-pool' } });
      const network = { ...body, private_network: '10.1.2.3/24' };
      await refused('invalid_request', 'operator', 'adminNodeCreate', { body: network });
      const { node } = await must('operator', 'adminNodeCreate', { body });
      await refused('already_exists', 'operator', 'adminNodeCreate', { body });
      const twin = { ...body, name: `${body.name}-twin` };
      await refused('conflict', 'operator', 'adminNodeCreate', { body: twin });
      const unusable = { ...twin, host: { product_serial: 'To be filled by O.E.M.' } };
      await refused('invalid_request', 'operator', 'adminNodeCreate', { body: unusable });
      const params = { node_id: String(node.id) };
      const drain = { params, body: { is_draining: true, reason: 'New firmware' } };
      const early = await refused('conflict', 'operator', 'adminNodeDrain', drain);
      assert.equal(actionReason(node, 'drain'), early.detail);
      await refused('conflict', 'operator', 'adminNodeDiscoveryCreate', { params });
      const again = { params, body: { reason: 'The token expired' } };
      await refused('fresh_sign_in_required', 'stale_operator', 'adminNodeEnrollmentCreate', again);
      await must('operator', 'adminNodeEnrollmentCreate', again);
      await must('operator', 'adminNodeRetire', { params, body: { reason: 'It never came' } });
      await refused('conflict', 'operator', 'adminNodeEnrollmentCreate', again);
      await must('operator', 'adminNodeDelete', { params });
    },
  },
];
