import assert from 'node:assert/strict';
import { actionReason, type Scenario } from './scenario.ts';

export const lifeScenarios: readonly Scenario[] = [
  {
    name: 'an allocation passes from requested to released, and its GPUs are free again only with proof',
    play: async ({ addNode, must, refused, launch, settle, project_id }) => {
      const node_id = await addNode('slice');
      const made = await must('member', 'allocationCreate', launch('whole-life', { gpu_count: 8 }));
      assert.equal(made.state, 'requested');
      const at = { params: { project_id, allocation_id: String(made.id) } };
      await refused('insufficient_capacity', 'member', 'allocationCreate', launch('other'));
      await settle();
      const running = await must('member', 'allocationGet', at);
      assert.deepEqual([running.state, running.power.state], ['active', 'on']);
      assert.equal((await must('member', 'allocationRelease', { ...at, body: {} })).state, 'releasing');
      const early = await refused('insufficient_capacity', 'member', 'allocationCreate', launch('other'));
      assert.equal(early.reasons[1].code, 'cleaning');
      await settle();
      assert.equal((await must('member', 'allocationGet', at)).state, 'released');
      const { claims } = await must('operator', 'adminAllocationGet', { params: { allocation_id: String(made.id) } });
      assert.ok(claims.every((claim: { wipe_proof_id: string | null }) => claim.wipe_proof_id !== null));
      const { free_gpus, occupancy } = await must('operator', 'adminNodeGet', { params: { node_id } });
      assert.deepEqual([free_gpus, occupancy], [8, 'free']);
    },
  },
  {
    name: 'a protected allocation is not released by its tenant, and by an operator it is',
    play: async ({ addNode, must, refused, active, settle }) => {
      await addNode('slice');
      const { id, at } = await active('kept', { is_protected: true });
      const problem = await refused('conflict', 'owner', 'allocationRelease', { ...at, body: {} });
      const shown = await must('owner', 'allocationGet', at);
      assert.equal(actionReason(shown, 'release'), problem.detail);
      await refused('conflict', 'owner', 'allocationReinstall', { ...at, body: {} });
      const params = { allocation_id: id };
      await refused('conflict', 'operator', 'adminAllocationForceCleanup', {
        params,
        body: { reason: 'It seems stuck', runtime_verified_absent: false },
      });
      const body = { reason: 'The tenant asked for it' };
      const charge_until = shown.activated_at ?? '';
      await refused('conflict', 'operator', 'adminAllocationForceRelease', { params, body: { ...body, charge_until } });
      const { allocation } = await must('operator', 'adminAllocationForceRelease', { params, body });
      assert.equal(allocation.state, 'releasing');
      await must('owner', 'allocationRelease', { ...at, body: {} });
      await settle();
      await refused('conflict', 'operator', 'adminAllocationForceRelease', { params, body });
      await refused('conflict', 'owner', 'allocationRelease', { ...at, body: {} });
    },
  },
  {
    name: 'an organization that forbids access without recording refuses every session but a terminal',
    play: async ({ addNode, must, refused, active, organization_id }) => {
      await addNode('slice');
      const { at } = await active('recorded');
      const params = { organization_id };
      const { version } = await must('owner', 'accessPolicyGet', { params });
      const body = { requires_recording: true };
      await refused('permission_denied', 'member', 'accessPolicyUpdate', { params, body, if_match: version });
      await must('owner', 'accessPolicyUpdate', { params, body, if_match: version });
      for (const kind of ['ssh', 'console'])
        await refused('policy_denied', 'member', 'terminalTicketCreate', { ...at, body: { kind } });
      await refused('policy_denied', 'owner', 'terminalTicketCreate', {
        ...at,
        body: { kind: 'forward', port: 80 },
      });
    },
  },
  {
    name: 'a project may forbid access without recording that its organization allows',
    play: async ({ addNode, must, refused, active, project_id }) => {
      await addNode('slice');
      const { at } = await active('recorded');
      const params = { project_id };
      const { version } = await must('owner', 'projectGet', { params });
      await refused('invalid_request', 'owner', 'projectUpdate', { params, body: {}, if_match: version });
      const body = { requires_recording: true };
      await must('owner', 'projectUpdate', { params, body, if_match: version });
      await refused('policy_denied', 'owner', 'terminalTicketCreate', { ...at, body: { kind: 'ssh' } });
      await must('owner', 'projectUpdate', { params, body: { requires_recording: false }, if_match: version + 1 });
    },
  },
  {
    name: 'a change names the version that was read, and what is released is changed no more',
    play: async ({ addNode, must, refused, active, settle }) => {
      await addNode('slice');
      const { at } = await active('tagged');
      const { version } = await must('owner', 'allocationGet', at);
      const body = { tags: { team: 'vision' } };
      await refused('precondition_required', 'owner', 'allocationUpdate', { ...at, body });
      await refused('precondition_failed', 'owner', 'allocationUpdate', { ...at, body, if_match: version + 7 });
      const changed = await must('owner', 'allocationUpdate', { ...at, body, if_match: version });
      assert.deepEqual(changed.tags, body.tags);
      await must('owner', 'allocationRelease', { ...at, body: {} });
      await settle();
      const released = await must('owner', 'allocationGet', at);
      const late = await refused('conflict', 'owner', 'allocationUpdate', { ...at, body, if_match: released.version });
      assert.equal(actionReason(released, 'update'), late.detail);
    },
  },
  {
    name: 'power changes only from a settled state, and a refusal names the action that applies',
    play: async ({ addNode, must, refused, active, settle, launch, project_id }) => {
      await addNode('slice');
      const { at } = await active('box');
      const power = async () => (await must('owner', 'allocationGet', at)).power.state;
      const stopping = await must('owner', 'allocationStop', { ...at, body: {} });
      assert.equal(stopping.power.state, 'stopping');
      const early = await refused('conflict', 'owner', 'allocationStart', { ...at, body: {} });
      assert.equal(actionReason(stopping, 'start'), early.detail);
      await settle();
      assert.equal(await power(), 'off');
      await refused('conflict', 'owner', 'allocationReboot', { ...at, body: {} });
      await must('owner', 'allocationStart', { ...at, body: {} });
      await settle();
      assert.equal(await power(), 'on');
      await must('owner', 'allocationReboot', { ...at, body: {} });
      await settle();
      assert.equal(await power(), 'on');
      await refused('invalid_request', 'owner', 'allocationStop', { ...at, body: { is_hard: true, grace_s: 5 } });
      const { id } = await must('owner', 'allocationCreate', launch('fresh'));
      const fresh = { params: { project_id, allocation_id: String(id) }, body: {} };
      await refused('conflict', 'owner', 'allocationReboot', fresh);
    },
  },
  {
    name: 'a session needs a VM that runs, and a viewer may only look at the console',
    play: async ({ addNode, refused, must, active, settle }) => {
      await addNode('slice');
      const { at } = await active('shell');
      await refused('permission_denied', 'viewer', 'terminalTicketCreate', { ...at, body: { kind: 'terminal' } });
      await must('owner', 'allocationStop', { ...at, body: {} });
      await refused('conflict', 'owner', 'terminalTicketCreate', { ...at, body: { kind: 'terminal' } });
      await settle();
      await refused('conflict', 'owner', 'terminalTicketCreate', { ...at, body: { kind: 'terminal' } });
      await must('owner', 'allocationRelease', { ...at, body: {} });
      await refused('conflict', 'owner', 'terminalTicketCreate', { ...at, body: { kind: 'console' } });
      await refused('invalid_request', 'owner', 'terminalTicketCreate', { ...at, body: { kind: 'forward' } });
    },
  },
  {
    name: 'a run that ended is neither retried nor cancelled',
    play: async ({ addNode, must, refused, active }) => {
      await addNode('slice');
      const { id } = await active('done');
      const query = { subject_id: id, state: 'done' };
      const [run] = (await must('operator', 'adminWorkflowRunList', { query })).items;
      const params = { workflow_run_id: String(run.id) };
      const retry = await refused('conflict', 'operator', 'adminWorkflowRunRetry', { params, body: {} });
      const cancel = await refused('conflict', 'operator', 'adminWorkflowRunCancel', { params, body: {} });
      assert.deepEqual([actionReason(run, 'retry'), actionReason(run, 'cancel')], [retry.detail, cancel.detail]);
    },
  },
];
