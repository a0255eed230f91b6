/** One successful request for each operation of allocations, their sessions, runs and traces. */
import { present, type Scenarios, type TestApi } from './request.ts';
import { LAUNCH, ofProject } from './scenarios-tenant.ts';

export const named = ({ world }: TestApi, name: string) =>
  present(
    [...world.allocations.values()].find((row) => row.name === name),
    `an allocation ${name}`,
  );

const at = (api: TestApi, name: string) => {
  const { id, project_id } = named(api, name);
  return { project_id, allocation_id: id };
};
const session = (api: TestApi) => ({
  ...at(api, 'train-llama'),
  session_id: present(
    [...api.world.sessions.values()].find((one) => one.is_recorded),
    'a recorded session',
  ).id,
});
const runOf = (api: TestApi, state: 'stuck' | 'running' | 'done') =>
  present(
    [...api.world.runs.values()].find((run) => run.state === state && run.project_id === api.seedIds.project_id),
    `a run that is ${state}`,
  ).id;

export const allocationScenarios = {
  allocationEstimate: (api) => ({ params: ofProject(api), body: LAUNCH }),
  allocationCreate: (api) => ({
    params: ofProject(api),
    body: {
      ...LAUNCH,
      name: 'brand-new',
      network: 'private_nat',
      ssh_key_ids: [api.seedIds.ssh_key_id],
      tags: { team: 'a' },
    },
  }),
  allocationList: (api) => ({ params: ofProject(api) }),
  allocationGet: (api) => ({ params: at(api, 'train-llama') }),
  allocationTimeline: (api) => ({ params: at(api, 'sweep-1') }),
  allocationUpdate: (api) => ({ params: at(api, 'train-llama'), body: { tags: { team: 'b' } }, if_match: 1 }),
  allocationRelease: (api) => ({ params: at(api, 'notebook-anna'), body: {} }),
  allocationStop: (api) => ({ params: at(api, 'notebook-anna'), body: {} }),
  allocationStart: (api) => ({ params: at(api, 'ray-head'), body: {} }),
  allocationReboot: (api) => ({ params: at(api, 'notebook-anna'), body: {} }),
  allocationReinstall: (api) => ({ params: at(api, 'notebook-anna'), body: {} }),
  terminalTicketCreate: (api) => ({ params: at(api, 'train-llama'), body: { kind: 'terminal' } }),
  terminalSessionList: (api) => ({ params: at(api, 'train-llama') }),
  terminalSessionGet: (api) => ({ params: session(api) }),
  terminalSessionClose: (api) => ({ params: session(api) }),
  terminalRecordingGet: (api) => ({ params: session(api) }),
  accessGrantList: (api) => ({ params: at(api, 'train-llama') }),
  accessGrantCreate: (api) => {
    const keys = [...api.world.sshKeys.values()].filter((key) => key.user_id === api.seedIds.users.viewer);
    return { params: at(api, 'train-llama'), body: { ssh_key_id: present(keys[0], 'a key').id } };
  },
  accessGrantRevoke: (api) => ({
    params: { ...at(api, 'train-llama'), access_grant_id: present(api.world.grants[0], 'a grant').id },
  }),
  allocationWipeCertificateGet: (api) => ({ params: at(api, 'sweep-1') }),
  wipeCertificateKeyList: () => ({}),
  traceGet: (api) => ({ params: ofProject(api), query: { id: named(api, 'finetune-broken').correlation_id } }),
  workflowRunList: (api) => ({ params: ofProject(api) }),
  workflowRunGet: (api) => ({ params: { ...ofProject(api), workflow_run_id: runOf(api, 'stuck') } }),
  workflowRunStepList: (api) => ({ params: { ...ofProject(api), workflow_run_id: runOf(api, 'done') } }),
  adminAllocationList: () => ({}),
  adminAllocationGet: (api) => ({ params: { allocation_id: named(api, 'train-llama').id } }),
  adminAllocationForceRelease: (api) => ({
    params: { allocation_id: named(api, 'train-llama').id },
    body: { reason: 'The host is to be repaired' },
  }),
  adminAllocationForceCleanup: (api) => ({
    params: { allocation_id: named(api, 'old-sweep').id },
    body: { reason: 'The drive was replaced', runtime_verified_absent: true },
  }),
  adminClaimBackfill: () => ({ body: { is_dry_run: true } }),
  adminWorkflowRunList: () => ({}),
  adminWorkflowRunGet: (api) => ({ params: { workflow_run_id: runOf(api, 'running') } }),
  adminWorkflowRunStepList: (api) => ({ params: { workflow_run_id: runOf(api, 'done') } }),
  adminWorkflowRunRetry: (api) => ({ params: { workflow_run_id: runOf(api, 'stuck') }, body: {} }),
  adminWorkflowRunCancel: (api) => ({ params: { workflow_run_id: runOf(api, 'running') }, body: {} }),
  adminTraceGet: (api) => ({ query: { id: named(api, 'old-sweep').id } }),
} satisfies Partial<Scenarios>;
