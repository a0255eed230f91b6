import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { TaskPayload, TaskRefusal, TaskSlot } from '@gpuaas/contract/node';
import { mintId } from '@gpuaas/kit';
import { cleanUp, enrolled, startTestAgent, temporaryFolder } from '../test/agents.ts';
import { createSigner, type Platform, signTask, signTasks, startPlatform } from '../test/platform.ts';
import { HostError } from './host/host.ts';
import type { TaskHandlers } from './tasks/task.ts';

const REPORT = { source: 'test', observed_at: '2026-01-01T00:00:00.000Z', successes: [], alerts: [] };

const setUp = async (t: TestContext) => {
  const platform = await startPlatform();
  cleanUp(t, platform.close);
  const state = await temporaryFolder(t);
  const nodeId = await enrolled(platform, state);
  return { platform, state, nodeId };
};

/** Counts how often each task ran. */
const counting = () => {
  const acts: string[] = [];
  const handlers: TaskHandlers = {
    'diag.health_probe': async (ctx) => {
      acts.push(ctx.task_id);
      return { report: REPORT };
    },
  };
  return { acts, handlers };
};

const slotOf = (slotId: string, generation: number): TaskSlot => ({
  slot_id: slotId,
  slot_index: 0,
  generation,
  module_id: null,
  gpu_pci_address: '0000:18:00.0',
  nvme_serial: `S-${slotId}`,
  nvme_device: '/dev/disk/by-id/nvme-x',
  mac_address: '02:00:00:00:00:01',
  private_ip: '10.100.0.2',
  fabric_vf_pci_address: '0000:1a:00.1',
  wipe_method: null,
});

const resultsOf = (platform: Platform, taskId: string) => platform.state.results.get(taskId) ?? [];

test('a task is verified, started with permission, executed and answered', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const { acts, handlers } = counting();
  const { agent, lines } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const payload = platform.payloadOf(nodeId, 'diag.health_probe', {});
  platform.deliver(nodeId, signTask(platform.signer(), payload));
  await platform.until('a result', () => resultsOf(platform, payload.task_id).length === 1);
  assert.deepEqual(acts, [payload.task_id]);
  assert.deepEqual(platform.state.starts, [payload.task_id]);
  const [result] = resultsOf(platform, payload.task_id);
  assert.deepEqual([result?.state, result?.output], ['completed', { report: REPORT }]);
  await platform.until('nothing in hand', () => agent.journaled_task_ids().length === 0);
  assert.ok(
    lines.some((line) => line['task_id'] === payload.task_id && line['correlation_id'] === payload.correlation_id),
  );
  assert.ok(lines.every((line) => line['host_role'] === 'worker_compute' && line['node_id'] === nodeId));
});

test('five concurrent copies, five later ones and a re-signed one are executed once with one result', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const { acts, handlers } = counting();
  const { agent } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const payload = platform.payloadOf(nodeId, 'diag.health_probe', {});
  const copies = Array.from({ length: 5 }, () => signTask(platform.signer(), payload));
  platform.deliver(nodeId, ...copies);
  await platform.until('a result', () => resultsOf(platform, payload.task_id).length > 0);
  await platform.until('nothing in hand', () => agent.journaled_task_ids().length === 0);
  platform.deliver(nodeId, ...copies);
  const resigned = { ...payload, issued_at: new Date().toISOString() };
  platform.deliver(nodeId, signTask(platform.signer(), resigned));
  await platform.until('the result told again', () => resultsOf(platform, payload.task_id).length >= 2);
  await agent.idle();
  assert.deepEqual(acts, [payload.task_id]);
  const [first, ...others] = resultsOf(platform, payload.task_id);
  for (const other of others) assert.deepEqual(other, first);
});

test('forged, foreign, expired, replayed and malformed tasks are refused by name and not executed', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const { acts, handlers } = counting();
  const { agent, lines } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const make = (over: Partial<TaskPayload> = {}, params: unknown = {}): TaskPayload =>
    platform.payloadOf(nodeId, 'diag.health_probe', params, over);
  const signed = (payload: TaskPayload) => signTask(platform.signer(), payload);

  const stranger = signTask(createSigner('sgn_stranger'), make());
  const impostor = { ...signTask(createSigner('sgn_1'), make()), signer_id: 'sgn_1' };
  const altered = signed(make());
  const cases = {
    unknown_signer: stranger,
    bad_signature: impostor,
    wrong_node: signed(make({ node_id: mintId('nod') })),
    expired: signed(make({ issued_at: at(-60_000), expires_at: at(-1000) })),
    clock_skew: signed(make({ issued_at: at(-121_000) })),
    unknown_kind: signed(make({ kind: 'host.run_command' as never })),
    bad_params: signed(make({}, { command: 'rm' })),
  };
  const future = signed(make({ issued_at: at(121_000) }));
  const tampered = { ...altered, payload: altered.payload.replace('"attempt":1', '"attempt":2') };
  platform.deliver(nodeId, ...Object.values(cases), future, tampered, { ...altered, payload: 'no json' });
  const idOf = (task: { payload: string }): string => (JSON.parse(task.payload) as TaskPayload).task_id;
  for (const [code, task] of Object.entries(cases)) {
    await platform.until(code, () => resultsOf(platform, idOf(task)).length > 0);
    assert.equal(resultsOf(platform, idOf(task))[0]?.error_code, code);
  }
  await platform.until('the others', () => lines.filter((line) => line['message'] === 'task refused').length === 10);
  await platform.until('the future', () => resultsOf(platform, idOf(future))[0]?.error_code === 'clock_skew');
  await platform.until('the altered', () => resultsOf(platform, idOf(tampered))[0]?.error_code === 'bad_signature');
  assert.deepEqual(acts, []);
  assert.deepEqual(platform.state.starts, []);
  await platform.until('the reports', () => platform.state.refusals.length === 10);
  const entries = (await readFile(join(state, 'journal.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { e: string; refusal?: TaskRefusal });
  assert.deepEqual(
    new Set(entries.map(({ e }) => e)),
    new Set(['refused', 'refusal_reported']),
    'nothing was accepted',
  );
  assert.deepEqual(
    entries.flatMap(({ refusal }) => refusal?.error_code ?? []).toSorted(),
    [...Object.keys(cases), 'clock_skew', 'bad_signature', 'bad_signature'].toSorted(),
  );
});

test('a refused task is journaled and reported once, also after the control plane was unreachable', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const start = () => startTestAgent(t, platform, { state, handlers: {} });
  const { agent } = await start();
  await agent.reached;
  const forged = signTask(createSigner('sgn_1'), platform.payloadOf(nodeId, 'diag.health_probe', {}));
  platform.state.fault = (path) => (path.endsWith('/refusals') ? 503 : null);
  for (let delivery = 0; delivery < 3; delivery++) platform.deliver(nodeId, forged);
  const tries = () => platform.state.calls.filter((call) => call.endsWith('/refusals')).length;
  await platform.until('it is tried', () => tries() > 0);
  await agent.stop();
  platform.state.fault = null;
  await start();
  await platform.until('the report', () => platform.state.refusals.length > 0);
  assert.deepEqual(
    platform.state.refusals.map(({ error_code }) => error_code),
    ['bad_signature'],
  );
});

test('tasks signed together each run with their own proof and are refused with any other', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const { acts, handlers } = counting();
  const { agent } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const make = () => platform.payloadOf(nodeId, 'diag.health_probe', {});
  const payloads = Array.from({ length: 5 }, make);
  const [first, second, third, fourth, last] = signTasks(platform.signer(), payloads);
  assert.ok(first && second && third && fourth && last);
  const alone = signTask(platform.signer(), make());
  const refused = [
    { ...second, proof: first.proof },
    { ...third, proof: third.proof.slice(1) },
    {
      ...fourth,
      proof: fourth.proof.map((step) => step.replace(/^\w+/, (side) => (side === 'left' ? 'right' : 'left'))),
    },
    { ...alone, proof: first.proof },
  ];
  platform.deliver(nodeId, first, last, ...refused);
  const idOf = (task: { payload: string }): string => (JSON.parse(task.payload) as TaskPayload).task_id;
  for (const task of refused)
    await platform.until('a refusal', () => resultsOf(platform, idOf(task))[0]?.error_code === 'bad_signature');
  for (const task of [first, last])
    await platform.until('a result', () => resultsOf(platform, idOf(task))[0]?.state === 'completed');
  assert.deepEqual(acts.toSorted(), [first, last].map(idOf).toSorted());
});

test('a known ID with other content is refused, and a bad copy does not fail the original task', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const gate = Promise.withResolvers<void>();
  const handlers: TaskHandlers = {
    'diag.health_probe': async () => {
      await gate.promise;
      return { report: REPORT };
    },
  };
  const { agent, lines } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const payload = platform.payloadOf(nodeId, 'diag.health_probe', {});
  platform.deliver(nodeId, signTask(platform.signer(), payload));
  await platform.until('it runs', () => platform.state.starts.length === 1);
  platform.deliver(
    nodeId,
    signTask(platform.signer(), { ...payload, correlation_id: 'other' }),
    signTask(platform.signer(), { ...payload, issued_at: '2020-01-01T00:00:00.000Z' }),
  );
  await platform.until('two refusals', () => lines.filter((line) => line['message'] === 'task refused').length === 2);
  assert.equal(resultsOf(platform, payload.task_id).length, 0);
  gate.resolve();
  await platform.until('a result', () => resultsOf(platform, payload.task_id).length === 1);
  assert.equal(resultsOf(platform, payload.task_id)[0]?.state, 'completed');
});

test('tasks of one slot run in order, of several in parallel, and of an older generation not at all', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const [slotA, slotB] = [mintId('slt'), mintId('slt')];
  const running = new Map<string, () => void>();
  const handlers: TaskHandlers = {
    'slice.vm_reboot': async (ctx) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      running.set(ctx.task_id, resolve);
      await promise;
      running.delete(ctx.task_id);
      return {};
    },
  };
  const { agent } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const reboot = (slotId: string, generation: number): TaskPayload =>
    platform.payloadOf(nodeId, 'slice.vm_reboot', {
      allocation_id: mintId('alc'),
      slots: [slotOf(slotId, generation)],
      is_hard: false,
    });
  const [a1, a2, b1, old] = [reboot(slotA, 5), reboot(slotA, 5), reboot(slotB, 1), reboot(slotA, 4)];
  platform.deliver(nodeId, ...[a1, a2, b1, old].map((payload) => signTask(platform.signer(), payload)));
  await platform.until('two run', () => running.size === 2);
  assert.deepEqual([...running.keys()].sort(), [a1.task_id, b1.task_id].sort());
  await platform.until('the refusal', () => resultsOf(platform, old.task_id).length === 1);
  assert.equal(resultsOf(platform, old.task_id)[0]?.error_code, 'stale_generation');
  const known = { slot_id: slotA, newest_generation: 5 };
  assert.deepEqual(resultsOf(platform, old.task_id)[0]?.output, { ...known, slots: [known] });
  running.get(a1.task_id)?.();
  await platform.until('the next', () => running.has(a2.task_id));
  for (const end of running.values()) end();
  await platform.until('all answered', () =>
    [a1, a2, b1].every(({ task_id }) => resultsOf(platform, task_id).length === 1),
  );
});

test('a task without permission to start is not started, and a cancelled one ends', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const acts: string[] = [];
  const handlers: TaskHandlers = {
    'diag.health_probe': async (ctx) => {
      acts.push(ctx.task_id);
      ctx.progress({ percent: 10 });
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('ended'))));
      return { report: REPORT };
    },
  };
  const { agent } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const [refused, cancelled, unwanted] = [0, 1, 2].map(() => platform.payloadOf(nodeId, 'diag.health_probe', {}));
  assert.ok(refused && cancelled && unwanted);
  platform.state.notToBegin.add(refused.task_id);
  platform.state.unwanted.add(unwanted.task_id);
  platform.deliver(nodeId, ...[refused, cancelled, unwanted].map((payload) => signTask(platform.signer(), payload)));
  await platform.until('two begin', () => acts.length === 2);
  platform.state.cancelled.add(cancelled.task_id);
  platform.wake(nodeId);
  for (const { task_id } of [cancelled, unwanted])
    await platform.until('its end', () => resultsOf(platform, task_id)[0]?.error_code === 'conflict');
  await platform.until('nothing in hand', () => agent.journaled_task_ids().length === 0);
  assert.ok(!acts.includes(refused.task_id));
  assert.equal(resultsOf(platform, refused.task_id).length, 0);
});

test('a hanging task is reported as timed out, and its slot stays locked until it ends', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const gate = Promise.withResolvers<void>();
  const acts: string[] = [];
  const handlers: TaskHandlers = {
    'slice.vm_reboot': async (ctx) => {
      acts.push(ctx.task_id);
      if (acts.length === 1) await gate.promise;
      return {};
    },
  };
  const config = { limits_s: { 'slice.vm_reboot': 0.05 }, grace_ms: 50 };
  const { agent } = await startTestAgent(t, platform, { state, handlers, config });
  await agent.reached;
  const slot = slotOf(mintId('slt'), 1);
  const [first, second] = [0, 1].map(() =>
    platform.payloadOf(nodeId, 'slice.vm_reboot', { allocation_id: mintId('alc'), slots: [slot], is_hard: true }),
  );
  assert.ok(first && second);
  platform.deliver(nodeId, signTask(platform.signer(), first), signTask(platform.signer(), second));
  await platform.until('the timeout', () => resultsOf(platform, first.task_id)[0]?.error_code === 'timeout');
  assert.deepEqual(acts, [first.task_id]);
  gate.resolve();
  await platform.until('the second', () => resultsOf(platform, second.task_id)[0]?.state === 'completed');
});

test('host errors are reported by code, and a crashed handler is not a success', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const handlers: TaskHandlers = {
    'image.evict': () => Promise.reject(new HostError('blocked', 'it is in use by token=gpe_abcdefghijklmnopqrstuvwx')),
    'slice.vm_stop': () => Promise.reject(new TypeError('a bug')),
    'diag.health_probe': async () => ({ nonsense: true }) as never,
  };
  const { agent } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const evict = platform.payloadOf(nodeId, 'image.evict', { digest: 'sha256:x' });
  const stop = platform.payloadOf(nodeId, 'slice.vm_stop', {
    allocation_id: mintId('alc'),
    slots: [slotOf(mintId('slt'), 1)],
    grace_s: 1,
  });
  const probe = platform.payloadOf(nodeId, 'diag.health_probe', {});
  const pull = platform.payloadOf(nodeId, 'image.pull', { image: { name: 'x', digest: null } });
  const all = [evict, stop, probe, pull];
  platform.deliver(nodeId, ...all.map((payload) => signTask(platform.signer(), payload)));
  await platform.until('four answers', () => all.every(({ task_id }) => resultsOf(platform, task_id).length === 1));
  assert.deepEqual(
    all.map(({ task_id }) => resultsOf(platform, task_id)[0]?.error_code),
    ['blocked', 'host_error', 'host_error', 'unsupported'],
  );
  assert.equal(resultsOf(platform, evict.task_id)[0]?.reason, 'it is in use by token=[redacted]');
});

test('while the control plane is unreachable work continues, results wait, and one log line says so', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const gate = Promise.withResolvers<void>();
  const handlers: TaskHandlers = {
    'diag.health_probe': async () => {
      await gate.promise;
      return { report: REPORT };
    },
  };
  const { agent, lines } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const payload = platform.payloadOf(nodeId, 'diag.health_probe', {});
  platform.deliver(nodeId, signTask(platform.signer(), payload));
  await platform.until('it runs', () => platform.state.starts.length === 1);
  for (const fault of [0, 500, 503]) {
    const before = platform.state.calls.length;
    platform.state.fault = () => fault;
    platform.dropConnections();
    await platform.until('some failed calls', () => platform.state.calls.length > before + 5);
  }
  gate.resolve();
  await platform.until('tries to report', () => platform.state.calls.some((call) => call.endsWith('/result')));
  assert.deepEqual(agent.journaled_task_ids(), [payload.task_id]);
  platform.state.fault = null;
  await platform.until('the result', () => resultsOf(platform, payload.task_id).length === 1);
  const conditions = () =>
    lines.filter((line) => line['what'] === 'task wait').map((line) => line['condition'] ?? 'connected');
  await platform.until('the poll', () => conditions().length === 5);
  assert.deepEqual(conditions(), ['connected', 'unreachable', 'failed', 'busy', 'connected']);
});

test('a revoked node starts nothing new, and enrolling again restores it with its journal', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const { acts, handlers } = counting();
  const { agent, lines } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const done = platform.payloadOf(nodeId, 'diag.health_probe', {});
  platform.deliver(nodeId, signTask(platform.signer(), done));
  await platform.until('done', () => agent.journaled_task_ids().length === 0 && acts.length === 1);
  platform.revoke(nodeId);
  await platform.until('the refusal', () => lines.some((line) => line['condition'] === 'refused'));
  await enrolled(platform, state, nodeId);
  await platform.until('back', () => lines.some((line) => String(line['message']).includes('enrolled again')));
  const next = platform.payloadOf(nodeId, 'diag.health_probe', {});
  platform.deliver(nodeId, signTask(platform.signer(), next), signTask(platform.signer(), done));
  await platform.until('the next', () => resultsOf(platform, next.task_id).length === 1);
  assert.deepEqual(acts, [done.task_id, next.task_id]);
});

test('certificates are renewed at half their lifetime while work continues', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  platform.state.lifeMs = 3000;
  await enrolled(platform, state, nodeId);
  const { handlers } = counting();
  const { agent, lines } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const before = JSON.parse(await readFile(join(state, 'identity.json'), 'utf8')) as { certificate_pem: string };
  await platform.until('a renewal', () => lines.some((line) => line['message'] === 'certificate renewed'));
  const payload = platform.payloadOf(nodeId, 'diag.health_probe', {});
  platform.deliver(nodeId, signTask(platform.signer(), payload));
  await platform.until('a result', () => resultsOf(platform, payload.task_id).length === 1);
  const after = JSON.parse(await readFile(join(state, 'identity.json'), 'utf8')) as { certificate_pem: string };
  assert.notEqual(after.certificate_pem, before.certificate_pem);
});

test('a task signed by a newly active key is trusted, and one by a retired key is not', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const { acts, handlers } = counting();
  const { agent } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const old = platform.signer();
  platform.rotateSigner();
  const first = platform.payloadOf(nodeId, 'diag.health_probe', {});
  platform.deliver(nodeId, signTask(platform.signer(), first));
  await platform.until('the first', () => resultsOf(platform, first.task_id)[0]?.state === 'completed');
  platform.retireSigners();
  const second = platform.payloadOf(nodeId, 'diag.health_probe', {});
  platform.deliver(nodeId, signTask(old, second));
  await platform.until('the second', () => resultsOf(platform, second.task_id)[0]?.error_code === 'unknown_signer');
  assert.deepEqual(acts, [first.task_id]);
});

test('a task by a new signer is not refused while the trust bundle is unavailable, and runs later', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const { acts, handlers } = counting();
  const { agent, lines } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  platform.rotateSigner();
  platform.state.fault = (path) => (path.endsWith('/trust-bundle') ? 503 : null);
  const payload = platform.payloadOf(nodeId, 'diag.health_probe', {});
  platform.deliver(nodeId, signTask(platform.signer(), payload));
  await platform.until('it waits', () => lines.some((line) => String(line['message']).startsWith('task deferred')));
  assert.deepEqual(resultsOf(platform, payload.task_id), []);
  platform.state.fault = null;
  platform.deliver(nodeId, signTask(platform.signer(), payload));
  await platform.until('a result', () => resultsOf(platform, payload.task_id)[0]?.state === 'completed');
  assert.deepEqual(acts, [payload.task_id]);
});

test('log lines reach the control plane numbered and without secrets', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const handlers: TaskHandlers = {
    'diag.health_probe': async (ctx) => {
      ctx.log.info(
        { nested: { deep: { password: 'hunter2', note: 'Authorization: Bearer abcdefghijklmnop' } } },
        'with gpe_0123456789abcdefghij and\n-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----',
      );
      return { report: REPORT };
    },
  };
  const { agent } = await startTestAgent(t, platform, { state, handlers });
  await agent.reached;
  const payload = platform.payloadOf(nodeId, 'diag.health_probe', {});
  platform.deliver(nodeId, signTask(platform.signer(), payload));
  const all = () => platform.state.logs.flatMap((batch) => batch.lines);
  await platform.until('its lines', () => all().some((line) => line['message'] === 'task finished'));
  const text = JSON.stringify(all());
  for (const secret of ['hunter2', 'abcdefghijklmnop', '0123456789abcdefghij', 'MIGH'])
    assert.ok(!text.includes(secret));
  assert.ok(all().some((line) => line['correlation_id'] === payload.correlation_id));
  let next = 0;
  for (const batch of platform.state.logs) {
    assert.equal(batch.first_number, next);
    next += batch.lines.length;
  }
});

test('on a full disk a task is refused before any effect, and the next one runs once there is space', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const { acts, handlers } = counting();
  let isFull = false;
  const journal_fs = {
    open: (async (...args: Parameters<typeof open>) => {
      const handle = await open(...args);
      const write = handle.write.bind(handle) as unknown as (...args: unknown[]) => Promise<unknown>;
      const full = () => Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }));
      return Object.assign(handle, { write: (...args: unknown[]) => (isFull ? full() : write(...args)) });
    }) as typeof open,
  };
  const { agent } = await startTestAgent(t, platform, { state, handlers, journal_fs });
  await agent.reached;
  isFull = true;
  const [first, second] = [0, 1].map(() => platform.payloadOf(nodeId, 'diag.health_probe', {}));
  assert.ok(first && second);
  platform.deliver(nodeId, signTask(platform.signer(), first));
  await platform.until('the refusal', () => resultsOf(platform, first.task_id)[0]?.error_code === 'no_space');
  assert.deepEqual([acts, platform.state.starts, agent.journaled_task_ids()], [[], [], []]);
  isFull = false;
  platform.deliver(nodeId, signTask(platform.signer(), second));
  await platform.until('the next', () => resultsOf(platform, second.task_id)[0]?.state === 'completed');
});

test('two agents cannot share a state directory', async (t) => {
  const { platform, state } = await setUp(t);
  const { handlers } = counting();
  await startTestAgent(t, platform, { state, handlers });
  await assert.rejects(startTestAgent(t, platform, { state, handlers }), /Another agent/);
});

test('an update is installed only by digest and answered after the restart', async (t) => {
  const { platform, state, nodeId } = await setUp(t);
  const home = await temporaryFolder(t);
  const bytes = Buffer.from('export {};\n');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await mkdir(join(home, 'versions', 'old'), { recursive: true });
  await symlink('versions/old', join(home, 'current'));
  const restarted = Promise.withResolvers<void>();
  const config = { home, restart: () => restarted.resolve() };
  const first = await startTestAgent(t, platform, { state, handlers: {}, config });
  await first.agent.reached;

  platform.state.releases.set(`sha256:${'0'.repeat(64)}`, bytes);
  const forged = platform.payloadOf(nodeId, 'agent.update', { version: 'x', digest: `sha256:${'0'.repeat(64)}` });
  platform.deliver(nodeId, signTask(platform.signer(), forged));
  await platform.until('the refusal', () => resultsOf(platform, forged.task_id)[0]?.error_code === 'blocked');
  assert.equal(await readlink(join(home, 'current')), 'versions/old');

  platform.state.releases.set(`sha256:${sha256}`, bytes);
  const update = platform.payloadOf(nodeId, 'agent.update', { version: '0.0.1', digest: `sha256:${sha256}` });
  platform.deliver(nodeId, signTask(platform.signer(), update));
  await restarted.promise;
  assert.equal(await readlink(join(home, 'current')), join('versions', sha256));
  assert.equal((await readFile(join(home, 'update/pending'), 'utf8')).trim(), 'old');
  await first.agent.stop();
  assert.equal(resultsOf(platform, update.task_id).length, 0);

  await startTestAgent(t, platform, { state, handlers: {}, config: { ...config, version: '0.0.1' } });
  await platform.until('the answer', () => resultsOf(platform, update.task_id).length === 1);
  assert.deepEqual(resultsOf(platform, update.task_id)[0]?.output, { version: '0.0.1' });
  await assert.rejects(readFile(join(home, 'update/pending')), { code: 'ENOENT' });
});
