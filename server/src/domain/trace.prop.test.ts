import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import { capEntries, entriesOf, firstFailureOf, gapsOf, type TraceFacts } from './trace.ts';
import type { AuditFact, EventFact, LogFact, RunFact, StepFact, TaskFact, TraceEntry } from './trace-entry.ts';
import { eventTitle, taskTitle } from './trace-titles.ts';

const T0 = Date.parse('2026-11-15T10:00:00.000Z');
const time = (ms: number): string => new Date(T0 + ms).toISOString();
const ALC = 'alc_a';
const C = 'c-the-launch';

const audit = (more: Partial<AuditFact> = {}): AuditFact => ({
  id: 'aud_1',
  created_at: time(0),
  actor_kind: 'user',
  actor_id: 'usr_a',
  action: 'allocation.create',
  target_kind: 'allocation',
  target_id: ALC,
  result: 'success',
  error_code: null,
  policy: 'project:member',
  correlation_id: C,
  metadata: { sku_name: 'slice' },
  ...more,
});
const run = (more: Partial<RunFact> = {}): RunFact => ({
  id: 'wfr_1',
  workflow: 'provision-slice',
  subject_id: ALC,
  project_id: 'prj_a',
  correlation_id: C,
  step: 'cloneImage',
  state: 'stuck',
  state_reason: 'The image could not be copied.',
  state_detail: null,
  state_since: time(5_000),
  finished_at: time(5_000),
  ...more,
});
const step = (more: Partial<StepFact> = {}): StepFact => ({
  run_id: 'wfr_1',
  sequence: 1,
  step: 'cloneImage',
  attempt: 1,
  outcome: 'next',
  detail: null,
  internal_detail: null,
  started_at: time(4_990),
  finished_at: time(5_000),
  ...more,
});
const task = (more: Partial<TaskFact> = {}): TaskFact => ({
  id: 'tsk_1',
  node_id: 'nod_1',
  host_name: 'j22u15',
  allocation_id: ALC,
  slot_id: null,
  workflow_run_id: 'wfr_1',
  kind: 'slice.image_clone',
  attempt: 1,
  state: 'failed',
  state_reason: 'No space is left.',
  error_code: 'no_space',
  percent: 40,
  correlation_id: C,
  created_at: time(1_000),
  dispatched_at: time(1_100),
  finished_at: time(4_980),
  bundles: [],
  has_log_line: true,
  ...more,
});
const line = (more: Partial<LogFact> = {}): LogFact => ({
  logged_at: time(1_500),
  service: 'gpuaas-node-agent',
  host_role: 'worker_compute',
  host_name: 'j22u15',
  node_id: 'nod_1',
  level: 'info',
  message: 'task begun',
  correlation_id: C,
  error_code: null,
  fields: {},
  origin: 'nod_1/s',
  number: 1,
  ...more,
});
const event = (more: Partial<EventFact> = {}): EventFact => ({
  id: 'evt_1',
  event_type: 'allocation.changed',
  subject: ALC,
  data: { allocation_id: ALC, name: 'a', state: 'failed', state_reason: 'The image could not be copied.' },
  correlation_id: C,
  created_at: time(5_000),
  ...more,
});
const facts = (more: Partial<TraceFacts> = {}): TraceFacts => ({
  audit: [],
  runs: [],
  steps: [],
  tasks: [],
  logs: [],
  events: [],
  skews: [],
  ...more,
});
const failedLaunch = facts({
  audit: [audit()],
  runs: [run()],
  steps: [
    step({ step: 'leaseBundle', finished_at: time(900), started_at: time(800) }),
    step({ sequence: 2, outcome: 'stuck', detail: 'The image could not be copied.' }),
  ],
  tasks: [task()],
  logs: [line(), line({ number: 2, level: 'error', message: 'a task handler broke', logged_at: time(4_970) })],
  events: [event()],
});
const at = (entries: readonly TraceEntry[], key: string): TraceEntry => {
  const found = entries.find((entry) => entry.key === key);
  assert.ok(found, key);
  return found;
};

describe('the first failure', () => {
  it('is the host task, not the preceding log line nor the step, run and state that report it', () => {
    const entries = entriesOf(failedLaunch, 'operator');
    assert.equal(entries.filter(({ is_failure }) => is_failure).length, 4);
    assert.equal(firstFailureOf(entries)?.key, 'task:tsk_1');
  });

  it('is the step where tasks are not shown', () => {
    const { tasks: _, logs: __, ...rest } = failedLaunch;
    const entries = entriesOf({ ...rest, tasks: [], logs: [] }, 'tenant');
    const first = firstFailureOf(entries);
    assert.equal(first?.key, 'step:wfr_1:000002');
    assert.equal(first?.host_role, 'worker_compute');
    assert.equal(first?.title, 'Copy image: stopped');
  });

  it('is not a task of another subject, another id, or a much later time', () => {
    const denied = audit({ result: 'denied', error_code: 'forbidden', created_at: time(4_000) });
    for (const other of [
      task({ allocation_id: 'alc_b' }),
      task({ correlation_id: 'c-another' }),
      task({ finished_at: time(60_000) }),
    ])
      assert.equal(firstFailureOf(entriesOf(facts({ audit: [denied], tasks: [other] }), 'operator'))?.source, 'audit');
  });

  it('joins a step and a task of one run under different ids and names', () => {
    const other = run({ correlation_id: 'c-retry', subject_id: 'slt_1' });
    const stuck = step({ outcome: 'stuck', finished_at: time(4_970) });
    const entries = entriesOf(facts({ runs: [other], steps: [stuck], tasks: [task()] }), 'operator');
    assert.equal(firstFailureOf(entries)?.key, 'task:tsk_1');
  });

  it('treats a line without an id as separate', () => {
    const lost = line({ level: 'fatal', correlation_id: null, logged_at: time(4_900) });
    const entries = entriesOf(facts({ logs: [lost, { ...lost, number: 2 }], tasks: [task()] }), 'operator');
    assert.equal(firstFailureOf(entries)?.source, 'log');
  });

  it('is absent where a later attempt succeeded', () => {
    const tried = facts({
      runs: [run({ state: 'done' })],
      steps: [
        step({ outcome: 'error', detail: 'It broke.', internal_detail: 'ECONNRESET', finished_at: time(1_000) }),
        step({ sequence: 2, outcome: 'wait', finished_at: time(2_000) }),
      ],
      tasks: [
        task({ finished_at: time(3_000) }),
        task({ id: 'tsk_2', attempt: 2, state: 'completed', state_reason: null, error_code: null }),
      ],
    });
    const entries = entriesOf(tried, 'operator');
    assert.equal(firstFailureOf(entries), undefined);
    assert.deepEqual(
      entries.map(({ level }) => level),
      ['warn', 'info', 'warn', 'info'],
    );
    assert.equal(at(entries, 'step:wfr_1:000001').detail, 'It broke. (ECONNRESET)');
  });

  it('remains when only an operator made the run continue', () => {
    const stopped = facts({
      runs: [run({ state: 'done' })],
      steps: [
        step({ outcome: 'stuck', finished_at: time(3_500) }),
        step({ sequence: 2, outcome: 'retried', finished_at: time(4_000) }),
        step({ sequence: 3, outcome: 'next', finished_at: time(9_000) }),
      ],
      tasks: [task({ finished_at: time(3_400) }), task({ id: 'tsk_2', attempt: 2, state: 'completed' })],
    });
    assert.equal(firstFailureOf(entriesOf(stopped, 'operator'))?.key, 'task:tsk_1');
  });

  it('is the task that a step waited for, even if it ended long after the step timed out, or never', () => {
    const gaveUp = facts({
      runs: [run()],
      steps: [step({ outcome: 'timeout', started_at: time(1_000) })],
      events: [event({ created_at: time(4_999) })],
    });
    for (const [late, title] of [
      [task({ state: 'expired', finished_at: time(600_000) }), 'Copy image: expired'],
      [task({ state: 'running', finished_at: null }), 'Copy image: running'],
      [task({ state: 'cancelled', finished_at: time(5_000) }), 'Copy image: cancelled'],
    ] as const) {
      const first = firstFailureOf(entriesOf({ ...gaveUp, tasks: [late] }, 'operator'));
      assert.deepEqual([first?.key, first?.title, first?.is_failure], ['task:tsk_1', title, true]);
    }
    const both = [
      task({ id: 'tsk_2', state: 'expired', finished_at: time(700_000) }),
      task({ state: 'expired', finished_at: time(600_000) }),
    ];
    const atOnce = both.map((one) => ({ ...one, finished_at: time(600_000) }));
    for (const tasks of [both, both.toReversed(), atOnce])
      assert.equal(firstFailureOf(entriesOf({ ...gaveUp, tasks }, 'operator'))?.key, 'task:tsk_1');
    for (const other of [
      task({ state: 'completed' }),
      task({ state: 'cancelled', finished_at: time(500) }),
      task({ state: 'running', finished_at: null, created_at: time(9_000) }),
      task({ state: 'running', finished_at: null, workflow_run_id: null }),
    ])
      assert.equal(firstFailureOf(entriesOf({ ...gaveUp, tasks: [other] }, 'operator'))?.source, 'workflow');
  });

  it('of a task without a waiting run is not cancelled by another task of its kind', () => {
    const alone = { workflow_run_id: null, kind: 'diag.health_probe' };
    const tasks = [
      task({ ...alone, state: 'expired', finished_at: null }),
      task({ ...alone, id: 'tsk_2', state: 'completed' }),
    ];
    assert.equal(firstFailureOf(entriesOf(facts({ tasks }), 'operator'))?.key, 'task:tsk_1');
  });
});

describe('entries', () => {
  it('have one order, for any order of their rows', () => {
    const shuffled = <T>(items: readonly T[]) => fc.shuffledSubarray([...items], { minLength: items.length });
    const many = {
      ...failedLaunch,
      events: Array.from({ length: 5 }, (_, n) => event({ id: `evt_${n}` })),
      logs: Array.from({ length: 12 }, (_, n) => line({ number: n })),
    };
    const expected = entriesOf(many, 'operator');
    fc.assert(
      fc.property(
        shuffled(many.steps),
        shuffled(many.events),
        shuffled(many.logs),
        shuffled(many.audit),
        (steps, events, logs, auditRows) => {
          const entries = entriesOf({ ...many, steps, events, logs, audit: auditRows }, 'operator');
          assert.deepEqual(entries, expected);
          assert.equal(firstFailureOf(entries.toReversed())?.key, firstFailureOf(expected)?.key);
        },
      ),
    );
    for (const [index, entry] of expected.entries())
      assert.ok(index === 0 || (expected[index - 1]?.at ?? '') <= entry.at, 'in order of time');
    assert.equal(new Set(expected.map(({ key }) => key)).size, expected.length, 'every key is its entry’s own');
  });

  it('are cut to the newest with every failure kept, including the first', () => {
    const seen = { cut: 0, all_failures_kept: 0 };
    fc.assert(
      fc.property(
        fc.array(fc.record({ ms: fc.nat(100_000), failed: fc.boolean() }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 40 }),
        (drawn, max) => {
          const events = drawn.map(({ ms, failed }, n) =>
            event({
              id: `evt_${String(n).padStart(3, '0')}`,
              created_at: time(ms),
              data: { state: failed ? 'failed' : 'active' },
            }),
          );
          const all = entriesOf(facts({ events }), 'operator');
          const kept = capEntries(all, max);
          assert.equal(kept.length, Math.min(max, all.length));
          assert.deepEqual(
            kept,
            all.filter((entry) => kept.includes(entry)),
            'still in order',
          );
          const failures = all.filter(({ is_failure }) => is_failure);
          if (kept.length < all.length) seen.cut += 1;
          if (failures.length <= max) {
            seen.all_failures_kept += 1;
            assert.ok(failures.every((entry) => kept.includes(entry)));
          }
          const first = firstFailureOf(all);
          assert.ok(first === undefined || kept.includes(first));
          const calm = all.filter(({ is_failure }) => !is_failure);
          const calmKept = kept.filter(({ is_failure }) => !is_failure);
          assert.deepEqual(calmKept, calm.slice(calm.length - calmKept.length), 'the newest of the rest');
        },
      ),
      { numRuns: 300 },
    );
    assertReached(seen);
  });

  it('are placed where their title became true, with the time since then', () => {
    const logs = [line({ logged_at: time(1_200) }), line({ number: 2, logged_at: time(3_000) })];
    const entries = entriesOf(
      {
        ...failedLaunch,
        logs,
        tasks: [
          task(),
          task({ id: 'tsk_2', state: 'running', finished_at: null }),
          task({ id: 'tsk_3', state: 'queued', dispatched_at: null, finished_at: null }),
          task({ id: 'tsk_4', state: 'cancelled', dispatched_at: null }),
        ],
      },
      'operator',
    );
    const ended = at(entries, 'task:tsk_1');
    assert.deepEqual([ended.at, ended.since], [time(4_980), time(1_100)]);
    assert.ok(logs.every((_, n) => entries.findIndex(({ source }) => source === 'log') + n < entries.indexOf(ended)));
    assert.deepEqual(
      ['task:tsk_2', 'task:tsk_3', 'task:tsk_4'].map((key) => [at(entries, key).at, at(entries, key).since]),
      [
        [time(1_100), null],
        [time(1_000), null],
        [time(4_980), time(1_000)],
      ],
    );
    const stopped = at(entries, 'step:wfr_1:000002');
    assert.deepEqual([stopped.at, stopped.since], [time(5_000), time(4_990)]);
  });

  it('of failed or destructive tasks name slots and disks', () => {
    const bundles = [
      { slot_index: 3, serial: 'NVME-3' },
      { slot_index: null, serial: 'NVME-9' },
      { slot_index: 4, serial: null },
    ];
    const detail = (more: Partial<TaskFact>) =>
      entriesOf(facts({ tasks: [task({ bundles, ...more })] }), 'operator')[0]?.detail;
    const names = 'slot 3 disk NVME-3, disk NVME-9, slot 4';
    assert.equal(detail({}), `No space is left. (no_space); ${names}`);
    const good = { state: 'completed', state_reason: null, error_code: null } as const;
    assert.equal(detail({ ...good, kind: 'slice.cleanup' }), names);
    assert.equal(detail({ ...good, kind: 'slice.vm_start' }), null);
    assert.equal(detail({ ...good, kind: 'of.another_version' }), null);
  });

  it('of a host are corrected by its clock offset, and show the correction', () => {
    const skews = [{ node_id: 'nod_1', host_name: 'j22u15', skew_ms: 2_000 }];
    const logs = [
      line(),
      line({ number: 2, fields: { own_time: '1970-01-01T00:00:00.000Z' } }),
      line({ number: 3, service: 'gpuaas-api', host_role: 'platform_control', host_name: 'control' }),
      line({ number: 4, node_id: null }),
      line({ number: 5, node_id: 'nod_2', host_name: '' }),
    ];
    const entries = entriesOf(facts({ logs, skews }), 'operator');
    const of = (n: number) => at(entries, `log:nod_1/s:${String(n).padStart(12, '0')}:${time(1_500)}`);
    assert.equal(of(1).at, time(-500));
    assert.deepEqual(of(1).data, { clock_skew_ms: 2_000, reported_at: time(1_500) });
    for (const n of [2, 3, 4, 5]) assert.equal(of(n).at, time(1_500), String(n));
    assert.equal(of(5).host_name, null);
  });

  it('from API request lines are requests, and fail only on a platform error', () => {
    const request = (status: unknown, more: Partial<LogFact> = {}) =>
      line({
        service: 'gpuaas-api',
        host_role: 'platform_control',
        message: 'request',
        fields: { method: 'POST', path: '/api/v1/x', status, duration_ms: 500 },
        ...more,
      });
    const of = (fact: LogFact) => entriesOf(facts({ logs: [fact] }), 'operator')[0];
    const fine = of(request(202));
    assert.deepEqual(
      [fine?.source, fine?.title, fine?.since, fine?.at, fine?.level],
      ['request', 'POST /api/v1/x: 202', time(1_000), time(1_500), 'info'],
    );
    assert.deepEqual([of(request(409))?.level, of(request(409))?.is_failure], ['warn', false]);
    assert.deepEqual([of(request(500))?.level, of(request(500))?.is_failure], ['error', true]);
    assert.equal(of(request(404, { fields: { method: 'GET', status: 404 } }))?.title, 'GET : 404');
    assert.equal(of(request(200, { fields: { method: 'GET', status: 200 } })), undefined, 'a poll shows nothing');
    assert.equal(of(request('none'))?.source, 'log', 'a listener of agents says less');
  });

  it('carry the reason of a line, or its error', () => {
    const detail = (more: Partial<LogFact>) => entriesOf(facts({ logs: [line(more)] }), 'operator')[0]?.detail;
    assert.equal(detail({ fields: { reason: 'why', err: { message: 'what' } } }), 'why');
    assert.equal(detail({ fields: { err: { message: 'what' } }, error_code: 'code' }), 'what');
    assert.equal(detail({ fields: { err: 'text' }, error_code: 'code' }), 'code');
    assert.equal(detail({ fields: { err: null } }), null);
  });

  it('show the current step of a run, and omit incomplete values', () => {
    const entries = entriesOf(
      facts({
        runs: [
          run({ state: 'waiting', finished_at: null, state_reason: 'The image is being copied.' }),
          run({
            id: 'wfr_2',
            state: 'running',
            finished_at: null,
            step: 'activate',
            state_reason: null,
            state_detail: 'inner',
          }),
        ],
        steps: [step({ run_id: 'wfr_gone' }), step({ outcome: 'cancelled' })],
      }),
      'operator',
    );
    assert.deepEqual(
      entries.map(({ key, title, level, detail }) => [key, title, level, detail]),
      [
        ['step:wfr_1:000001', 'Copy image: cancelled', 'warn', null],
        ['run:wfr_1', 'Copy image: waits', 'info', 'The image is being copied.'],
        ['run:wfr_2', 'Activate: under way', 'info', 'inner'],
      ],
    );
  });

  it('match the reader’s access: tenants see no host names and no operator text', () => {
    const rows = {
      audit: [audit({ target_id: 'nod_1' }), audit({ id: 'aud_2', target_id: null })],
      runs: [run({ subject_id: 'slt_1', finished_at: null, state_detail: 'on /dev/nvme1n1' })],
      steps: [step({ internal_detail: 'on /dev/nvme1n1', outcome: 'error' })],
      events: [event({ subject: 'nod_1', event_type: 'node.changed', data: { state: 'offline', name: 'j22u15' } })],
    };
    const shown = JSON.stringify(entriesOf(facts(rows), 'tenant'));
    for (const secret of ['nod_1', 'slt_1', 'nvme1n1', 'j22u15', 'sku_name'])
      assert.ok(!shown.includes(secret), secret);
    const entries = entriesOf(
      facts({
        ...rows,
        tasks: [
          task({ state: 'cancelled', allocation_id: null }),
          task({ id: 'tsk_2', allocation_id: null, slot_id: 'slt_1' }),
        ],
      }),
      'operator',
    );
    assert.deepEqual(
      entries.map(({ key, node_id, subject_id, level }) => [key, node_id, subject_id, level]),
      [
        ['audit:aud_1', 'nod_1', 'nod_1', 'info'],
        ['audit:aud_2', null, null, 'info'],
        ['task:tsk_1', 'nod_1', 'nod_1', 'warn'],
        ['task:tsk_2', 'nod_1', 'slt_1', 'error'],
        ['step:wfr_1:000001', null, 'slt_1', 'error'],
        ['run:wfr_1', null, 'slt_1', 'info'],
        ['event:evt_1', 'nod_1', 'nod_1', 'warn'],
      ],
    );
  });
});

describe('titles', () => {
  it('of events state the new state, or the meaning of their type', () => {
    assert.equal(
      eventTitle('allocation.changed', { state: 'release_failed' }),
      'The cleanup of the allocation is blocked',
    );
    assert.equal(eventTitle('allocation.power_changed', { power_state: 'off' }), 'Allocation power is off');
    assert.equal(eventTitle('node.changed', { state: 'offline' }), 'The node is offline');
    assert.equal(
      eventTitle('workflow_run.changed', { state: 'stuck', workflow: 'provision-slice', step: 'cloneImage' }),
      'The run is stuck at: Copy image',
    );
    assert.equal(eventTitle('node.rebooted', {}), 'A host booted since its agent was last seen');
    assert.equal(eventTitle('some.other', {}), 'some.other');
  });

  it('of tasks are words, and an unknown kind is its own name', () => {
    assert.equal(taskTitle('slice.cleanup', 'queued'), 'Wipe disks: queued');
    assert.equal(taskTitle('some.kind', 'queued'), 'some.kind: queued');
  });

  it('of a run’s event name the subject of the run', () => {
    const told = event({
      event_type: 'workflow_run.changed',
      subject: 'wfr_1',
      data: { state: 'stuck', subject_id: ALC },
    });
    const [entry] = entriesOf(facts({ events: [told] }), 'tenant');
    assert.deepEqual(
      [entry?.subject_id, entry?.is_failure, entry?.data],
      [ALC, true, { type: 'workflow_run.changed' }],
    );
    const power = event({
      event_type: 'allocation.power_changed',
      data: { power_state: 'unknown', power_reason: 'Lost.' },
    });
    const [second] = entriesOf(facts({ events: [power] }), 'tenant');
    assert.deepEqual([second?.level, second?.detail], ['warn', 'Lost.']);
  });
});

describe('gaps', () => {
  const window = { now_ms: T0 + 3_600_000, logs_since_ms: T0 - 3_600_000 };

  it('are lines without correlation id or host, and tasks without log lines', () => {
    const logs = [
      line(),
      line({ number: 2, correlation_id: null }),
      line({ number: 3, correlation_id: null }),
      line({ number: 4, correlation_id: null, service: 'a', host_name: '' }),
      line({ number: 5, service: 'b', host_name: '' }),
      line({ number: 6, service: 'b', host_name: '' }),
    ];
    assert.deepEqual(gapsOf({ logs, tasks: [task(), task({ id: 'tsk_2', has_log_line: false })] }, window), [
      '1 log line of a has no correlation ID.',
      '2 log lines of gpuaas-node-agent on j22u15 have no correlation ID.',
      '1 log line of a does not name its host.',
      '2 log lines of b do not name their host.',
      'j22u15 wrote no log line for the task "Copy image" (tsk_2).',
    ]);
  });

  it('omit tasks in progress, just ended, or older than the retained lines', () => {
    const silent = (more: Partial<TaskFact>) => task({ has_log_line: false, ...more });
    const tasks = [
      silent({ state: 'running', finished_at: null }),
      silent({ state: 'expired' }),
      silent({ finished_at: null }),
      silent({ finished_at: time(3_590_000) }),
      silent({ finished_at: time(-4_000_000) }),
    ];
    assert.deepEqual(gapsOf({ logs: [], tasks }, window), []);
  });

  it('of very many tasks are counted', () => {
    const tasks = Array.from({ length: 12 }, (_, n) =>
      task({ id: `tsk_${n}`, has_log_line: false, state: 'completed' }),
    );
    const gaps = gapsOf({ logs: [], tasks }, window);
    assert.equal(gaps.length, 11);
    assert.equal(gaps.at(-1), '2 more tasks ended without a log line from the host.');
    assert.match(gapsOf({ logs: [], tasks: tasks.slice(0, 11) }, window).at(-1) ?? '', /^1 more task ended/);
  });
});
