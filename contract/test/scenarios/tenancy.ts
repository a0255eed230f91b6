import assert from 'node:assert/strict';
import { LIMITS } from '@gpuaas/contract';
import { actionReason, type Scenario } from './scenario.ts';

const ED25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl';

export const tenancyScenarios: readonly Scenario[] = [
  {
    name: 'a project with allocations or service accounts is not deleted, and the refusal names them',
    play: async ({ addNode, must, refused, launch, settle, organization_id }) => {
      await addNode('slice');
      const made = await must('owner', 'projectCreate', { params: { organization_id }, body: { name: 'short-lived' } });
      const params = { project_id: String(made.id) };
      const { body = {} } = launch('train');
      const { id } = await must('owner', 'allocationCreate', { params, body });
      const account = await must('owner', 'serviceAccountCreate', { params, body: { name: 'robot' } });
      const running = await refused('conflict', 'owner', 'projectDelete', { params });
      assert.match(running.detail, /train/);
      assert.equal(actionReason(await must('owner', 'projectGet', { params }), 'delete'), running.detail);
      const at = { params: { ...params, allocation_id: String(id) }, body: {} };
      await must('owner', 'allocationRelease', at);
      assert.match((await refused('conflict', 'owner', 'projectDelete', { params })).detail, /train/);
      await settle();
      assert.match((await refused('conflict', 'owner', 'projectDelete', { params })).detail, /1 service account/);
      const robot = { ...params, service_account_id: String(account.service_account.id) };
      await must('owner', 'serviceAccountDelete', { params: robot });
      await must('owner', 'projectDelete', { params });
      await refused('not_found', 'owner', 'projectGet', { params });
      await refused('not_found', 'owner', 'allocationCreate', { params, body });
    },
  },
  {
    name: 'an operation beyond the role is refused, and an invisible resource is not found',
    play: async ({ addNode, refused, must, launch, active, project_id, organization_id }) => {
      await addNode('slice');
      const { at } = await active('seen');
      await refused('permission_denied', 'viewer', 'allocationCreate', launch('mine'));
      await refused('permission_denied', 'viewer', 'allocationRelease', { ...at, body: {} });
      await refused('permission_denied', 'member', 'projectDelete', { params: { project_id } });
      await refused('permission_denied', 'owner', 'adminNodeList', {});
      const shown = await must('viewer', 'allocationGet', at);
      const allowed = shown.actions.filter((action: { allowed: boolean }) => action.allowed);
      assert.deepEqual(
        allowed.map((action: { name: string }) => action.name),
        ['console'],
      );
      for (const id of ['allocationGet', 'allocationTimeline'] as const) await refused('not_found', 'stranger', id, at);
      await refused('not_found', 'stranger', 'allocationCreate', launch('theirs'));
      await refused('not_found', 'stranger', 'projectGet', { params: { project_id } });
      await refused('not_found', 'stranger', 'organizationGet', { params: { organization_id } });
    },
  },
  {
    name: 'a larger GPU limit is requested once, and decided once',
    play: async ({ must, refused, organization_id, project_id }) => {
      const params = { organization_id };
      const body = { gpu_limit: 8, reason: 'A larger run' };
      const needless = await refused('conflict', 'owner', 'quotaRequestCreate', { params, body });
      assert.match(needless.detail, /no GPU limit at this level/);
      await must('operator', 'adminQuotaPut', { body: { organization_id, gpu_limit: 2 }, if_match: 1 });
      await refused('permission_denied', 'member', 'quotaRequestCreate', { params, body });
      await refused('not_found', 'stranger', 'quotaRequestList', { params });
      const { id } = await must('owner', 'quotaRequestCreate', { params, body });
      await refused('already_exists', 'owner', 'quotaRequestCreate', { params, body });
      const at = { params: { quota_request_id: String(id) } };
      await refused('invalid_request', 'operator', 'adminQuotaRequestApprove', { ...at, body: { gpu_limit: 4 } });
      const granted = { gpu_limit: 4, reason: 'More next month' };
      await must('operator', 'adminQuotaRequestApprove', { ...at, body: granted });
      await refused('conflict', 'operator', 'adminQuotaRequestReject', { ...at, body: { reason: 'Too late' } });
      const withdrawn = { params: { ...params, quota_request_id: String(id) } };
      await refused('conflict', 'owner', 'quotaRequestWithdraw', withdrawn);
      const { organization } = await must('owner', 'quotaGet', { params: { project_id } });
      assert.equal(organization.gpu_limit, 4);
    },
  },
  {
    name: 'an organization keeps its last owner',
    play: async ({ must, refused, organization_id, users }) => {
      const params = { organization_id, user_id: users.owner.id };
      const { items } = await must('owner', 'organizationMemberList', { params: { organization_id } });
      const { version } = items.find((one: { user_id: string }) => one.user_id === users.owner.id);
      await refused('conflict', 'owner', 'organizationMemberRemove', { params });
      const body = { role: 'member' };
      await refused('conflict', 'owner', 'organizationMemberUpdate', { params, body, if_match: version });
    },
  },
  {
    name: 'names and keys exist once, and a key must be one',
    play: async ({ must, refused, organization_id }) => {
      const params = { organization_id };
      await must('owner', 'projectCreate', { params, body: { name: 'twin' } });
      await refused('already_exists', 'owner', 'projectCreate', { params, body: { name: 'twin' } });
      await must('owner', 'sshKeyCreate', { body: { name: 'laptop', public_key: ED25519 } });
      await refused('already_exists', 'owner', 'sshKeyCreate', { body: { name: 'again', public_key: ED25519 } });
      await refused('invalid_request', 'owner', 'sshKeyCreate', { body: { name: 'bad', public_key: 'ssh-rsa AAAA' } });
      await refused('invalid_request', 'owner', 'sshKeyCreate', { body: { name: 'bad', public_key: 'not a key' } });
    },
  },
  {
    name: 'a limit that is reached refuses one more, with the limit and the way below it',
    play: async ({ must, refused, organization_id }) => {
      const max = LIMITS.organizations.default;
      const create = (number: number) => ({ body: { name: `full-${organization_id.slice(-8)}-${number}` } });
      // The owner created the organization of the scene.
      for (let number = 1; number < max; number++) await must('owner', 'organizationCreate', create(number));
      const problem = await refused('limit_exceeded', 'owner', 'organizationCreate', create(max));
      assert.match(problem.detail, /^You have reached your limit of 10 organizations\. Use an existing organization,/);
      // It is per user.
      await must('stranger', 'organizationCreate', create(max));
    },
  },
];
