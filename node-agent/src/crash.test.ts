import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { cleanUp, enrolled, temporaryFolder } from '../test/agents.ts';
import { type Platform, signTask, startPlatform } from '../test/platform.ts';
import type { Boundary } from './runner.ts';

const start = (t: TestContext, platform: Platform, state: string, crashAt?: Boundary): ChildProcess => {
  const script = join(import.meta.dirname, '../test/crash-agent.ts');
  const child = spawn(process.execPath, [script, state, platform.url.href], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...(crashAt === undefined ? {} : { CRASH_AT: crashAt }) },
  });
  cleanUp(t, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return child;
};

/** Between permission and result the host may act again: its actions are idempotent. Before and after it may not. */
const ACTS: Readonly<Record<Boundary, number>> = {
  accepted: 1,
  allowed: 1,
  begun: 1,
  acted: 2,
  finished: 1,
  reported: 1,
  acknowledged: 1,
};

for (const [boundary, acts] of Object.entries(ACTS) as [Boundary, number][])
  test(`an agent killed when a task is ${boundary} resumes from its journal to one result`, async (t) => {
    const platform = await startPlatform();
    cleanUp(t, platform.close);
    const state = await temporaryFolder(t);
    const nodeId = await enrolled(platform, state);
    const payload = platform.payloadOf(nodeId, 'diag.health_probe', {});
    const copy = () => signTask(platform.signer(), { ...payload, issued_at: new Date().toISOString() });

    const first = start(t, platform, state, boundary);
    platform.deliver(nodeId, copy());
    const [, signal] = (await once(first, 'exit')) as [number | null, string | null];
    assert.equal(signal, 'SIGKILL');

    // The control plane does not know the result and delivers again, several times.
    start(t, platform, state);
    platform.deliver(nodeId, copy(), copy(), copy(), copy(), copy());
    const results = () => platform.state.results.get(payload.task_id) ?? [];
    await platform.until('a result', () => results().length > 0, 120_000);
    const journaled = () => platform.state.waits.at(-1)?.['journaled_task_ids'] as string[] | undefined;
    await platform.until('nothing in hand', () => journaled()?.length === 0, 120_000);
    const journal = await readFile(join(state, 'journal.jsonl'), 'utf8');
    const entries = journal
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { e: string }).e);
    assert.deepEqual([...new Set(entries)], ['accepted', 'begun', 'finished', 'acknowledged']);
    assert.equal(entries.filter((entry) => entry === 'finished').length, 1);
    assert.equal((await readFile(join(state, 'acts'), 'utf8')).trim().split('\n').length, acts);
    for (const result of results()) assert.deepEqual(result, results()[0]);
  });
