/** The history before the start of the demo: audit rows, tasks, log lines, events, grants and sessions. */

import { type TaskKind, taskLabel } from '@gpuaas/contract/task-kinds';
import { POLICIES } from '../../../server/src/domain/sentences.ts';
import { digestOf } from '../core/random.ts';
import type { Allocation, AuditRow, KeptEvent, NodeTask } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { say } from '../simulation/log.ts';
import type { SeedIds } from './people.ts';

const HOUR_MS = 3_600_000;

type Done = Readonly<{
  at: string;
  action: string;
  target: string;
  by: string;
  correlation_id: string;
  result?: AuditRow['result'];
  project_id?: string | null;
  metadata?: Readonly<Record<string, unknown>>;
}>;

const audit = (world: World, organization_id: string | null, done: Done): void => {
  const result = done.result ?? 'success';
  world.audit.push({
    id: world.mint('audit_log', Date.parse(done.at)),
    created_at: done.at,
    organization_id,
    project_id: done.project_id ?? null,
    actor_kind: done.by === 'system' ? 'system' : done.by.startsWith('sva_') ? 'service_account' : 'user',
    actor_id: done.by === 'system' ? null : done.by,
    actor_role: result === 'denied' || done.by === 'system' ? null : 'project:member',
    source_ip: done.by === 'system' ? null : '198.51.100.7',
    user_agent: done.by === 'system' ? null : 'gpuaas-cli/0.1.0',
    action: done.action,
    target_kind: done.action.split('.').slice(0, -1).join('.'),
    target_id: done.target,
    result,
    error_code: result === 'success' ? null : result === 'denied' ? 'permission_denied' : 'conflict',
    policy: result === 'denied' ? POLICIES.no_role(done.action) : 'project:member holds it',
    correlation_id: done.correlation_id,
    metadata: { ...done.metadata },
    sealed: true,
  });
};

const task = (world: World, row: Allocation, kind: TaskKind, at: string, over: Partial<NodeTask> = {}): void => {
  const atMs = Date.parse(at);
  world.tasks.push({
    id: world.mint('node_task', atMs),
    node_id: row.node_id ?? '',
    allocation_id: row.id,
    kind,
    label: taskLabel(kind),
    attempt: 1,
    state: 'completed',
    state_reason: null,
    error_code: null,
    percent: 100,
    output: null,
    progress_note: null,
    correlation_id: row.correlation_id,
    created_at: at,
    dispatched_at: at,
    started_at: at,
    finished_at: new Date(atMs + 9_000).toISOString(),
    expires_at: new Date(atMs + HOUR_MS).toISOString(),
    ...over,
  });
};

/** The host tasks of a run's steps. */
const tasksOf = (world: World, row: Allocation): void => {
  for (const run of world.runs.values()) {
    if (run.subject_id !== row.id) continue;
    for (const step of run.steps) {
      const kind = run.path.find((one) => one.step === step.step)?.kind ?? null;
      if (kind === null) continue;
      const isBad = step.outcome === 'stuck' || step.outcome === 'failed';
      task(world, row, kind, step.started_at, {
        finished_at: step.finished_at,
        ...(isBad
          ? { state: 'failed', state_reason: step.detail, error_code: 'readiness_timeout', percent: null }
          : {}),
      });
      say(world, {
        level: isBad ? 'error' : 'info',
        message: isBad ? (step.detail ?? 'failed') : `task ${kind} ended`,
        correlation_id: row.correlation_id,
        node_id: row.node_id,
        ago_ms: world.now() - Date.parse(step.finished_at),
        ...(isBad ? { error_code: 'readiness_timeout' } : {}),
        fields: { step: step.step, duration_ms: step.duration_ms },
      });
    }
  }
};

const eventOf = (world: World, row: Allocation, state: string, at: string): KeptEvent => ({
  specversion: '1.0',
  id: world.mint('event', Date.parse(at)),
  type: 'allocation.changed',
  source: '/gpuaas',
  subject: row.id,
  time: at,
  datacontenttype: 'application/json',
  correlationid: row.correlation_id,
  organizationid: row.organization_id,
  projectid: row.project_id,
  data: { allocation_id: row.id, name: row.name, state, state_reason: null },
});

const eventsOf = (world: World, row: Allocation): KeptEvent[] => [
  eventOf(world, row, 'requested', row.created_at),
  ...(row.activated_at === null ? [] : [eventOf(world, row, 'active', row.activated_at)]),
  ...(row.released_at === null ? [] : [eventOf(world, row, row.state, row.released_at)]),
];

const seedSessions = (world: World, seedIds: SeedIds, row: Allocation): void => {
  for (const [index, hours] of [3, 27].entries()) {
    const at = world.now() - hours * HOUR_MS;
    const id = world.mint('terminal_session', at);
    world.sessions.set(id, {
      id,
      project_id: row.project_id,
      allocation_id: row.id,
      kind: index === 0 ? 'terminal' : 'ssh',
      port: null,
      state: 'closed',
      is_writable: true,
      is_recorded: index === 0,
      principal_id: seedIds.users.member,
      principal_name: 'Mei Member',
      source_ip: '198.51.100.7',
      bytes_in: 2_048,
      bytes_out: 182_334,
      created_at: new Date(at).toISOString(),
      opened_at: new Date(at + 900).toISOString(),
      closed_at: new Date(at + 1_500_000).toISOString(),
      expires_at: new Date(at + 8 * HOUR_MS).toISOString(),
      end_reason: 'ended',
      end_message: 'The program ended.',
      correlation_id: `c-${digestOf(id, 26)}`,
      ticket: '',
      ticket_expires_at: 0,
    });
  }
  const key = [...world.sshKeys.values()].find((one) => one.user_id === seedIds.users.owner);
  if (key === undefined) return;
  const at = world.ago(40 * HOUR_MS);
  world.grants.push({
    id: world.mint('access_grant', Date.parse(at)),
    allocation_id: row.id,
    user_id: key.user_id,
    user_name: 'Oscar Owner',
    ssh_key_id: key.id,
    fingerprint: key.fingerprint,
    state: 'installed',
    state_reason: null,
    granted_by: seedIds.users.member,
    correlation_id: `c-${digestOf('grant', 26)}`,
    created_at: at,
    installed_at: at,
    revoked_at: null,
  });
};

const DAILY = ['ssh_key.create', 'service_account.token.create', 'project.member.update', 'api_token.create'];

export const seedHistory = (world: World, seedIds: SeedIds): void => {
  const rows = [...world.allocations.values()].filter((row) => row.organization_id === seedIds.organization_id);
  for (const row of rows) {
    const { project_id, correlation_id } = row;
    const base = { target: row.id, by: row.requested_by, correlation_id, project_id };
    const metadata = { sku_name: row.sku_name, gpu_count: row.gpu_count };
    audit(world, seedIds.organization_id, { ...base, at: row.created_at, action: 'allocation.create', metadata });
    if (row.release_requested_at !== null)
      audit(world, seedIds.organization_id, { ...base, at: row.release_requested_at, action: 'allocation.release' });
    tasksOf(world, row);
  }
  for (let day = 0; day < 30; day++) {
    const at = world.ago(day * 24 * HOUR_MS + 5 * HOUR_MS);
    const correlation_id = `c-${digestOf(`day ${day}`, 26)}`;
    const project_id = seedIds.project_id;
    const isDenied = day % 5 === 3;
    audit(world, seedIds.organization_id, {
      at,
      action: isDenied ? 'allocation.release' : (DAILY[day % DAILY.length] ?? 'ssh_key.create'),
      target: isDenied ? (rows[0]?.id ?? '') : seedIds.service_account_id,
      by: isDenied ? seedIds.users.viewer : day % 3 === 0 ? seedIds.service_account_id : seedIds.users.member,
      correlation_id,
      project_id,
      ...(isDenied ? { result: 'denied' as const } : {}),
    });
    audit(world, null, {
      at,
      action: 'node.drain',
      target: [...world.nodes.keys()][day] ?? '',
      by: seedIds.users.operator,
      correlation_id,
    });
  }
  const events = rows.flatMap((row) => eventsOf(world, row)).filter((event) => Date.parse(event.time) < world.now());
  world.events.unshift(...events.sort((a, b) => (a.id < b.id ? -1 : 1)));
  world.audit.sort((a, b) => (a.id < b.id ? -1 : 1));
  world.logs.sort((a, b) => (a.logged_at < b.logged_at ? -1 : 1));
  const first = rows.find((row) => row.name === 'train-llama');
  if (first !== undefined) seedSessions(world, seedIds, first);
};
