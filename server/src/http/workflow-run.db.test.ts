import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { type Scripted, scripted, workerOf } from '../../test/scripted-workflow.ts';
import { passTime } from '../../test/workflow-faults.ts';
import { PLATFORM } from '../db/client.ts';
import { done, next, wait } from '../workflows/engine/outcome.ts';
import { startRun } from '../workflows/engine/run.ts';

const SECRET = 'connect ECONNREFUSED 10.0.0.7:8443';
const broken = scripted({ one: async () => next('two'), two: async () => Promise.reject(new Error(SECRET)) });
const mended = scripted({ one: async () => next('two'), two: async () => done() });

let app: TestApp;
const closers: (() => Promise<void>)[] = [];
before(async () => {
  app = await startTestApp({ after: (fn) => void closers.unshift(fn) });
});
after(async () => {
  for (const close of closers) await close();
});

type Owner = Readonly<{ organization_id: string; project_id: string }>;
const startFor = ({ db }: TestApp, owner: Owner, workflow: Scripted, correlation_id = 'cor-1') =>
  db.database.write(PLATFORM, (tx) =>
    startRun(tx, {
      workflow,
      subject_id: mintId('sub'),
      organization_id: owner.organization_id,
      project_id: owner.project_id,
      correlation_id,
    }),
  );

const workUntilStuck = async ({ db }: TestApp, id: string) => {
  for (let attempt = 1; attempt <= 3; attempt++) {
    await workerOf(db.database, [broken]).tick();
    await passTime(db.database, id);
  }
};

test('tenants read a plain reason of a stuck run, operators its error, and a retry completes it', async () => {
  const [ada, root] = [await app.user('ada'), await app.admin()];
  const run = await startFor(app, ada, broken);
  await workUntilStuck(app, run.id);

  const path = `/api/v1/projects/${ada.project_id}/workflow-runs/${run.id}`;
  const { body: plain } = await ada.get(path);
  assert.deepEqual([plain.state, plain.step, plain.owner], ['stuck', 'two', null]);
  assert.equal(plain.state_reason, 'Step two did not succeed in 3 attempts.');
  assert.ok(plain.actions.every((action: { allowed: boolean; reason: string }) => !action.allowed && action.reason));
  const { body: steps } = await ada.get(`${path}/steps`);
  assert.equal(steps.items.length, 4);
  assert.ok(!JSON.stringify([plain, steps]).includes('10.0.0.7'), 'a tenant sees no address of the platform');

  const adminPath = `/api/v1/admin/workflow-runs/${run.id}`;
  const { body: full } = await root.get(adminPath);
  assert.equal(full.state_reason, `Step two did not succeed in 3 attempts. (${SECRET})`);
  assert.deepEqual(
    full.actions.map((action: { name: string; allowed: boolean }) => [action.name, action.allowed]),
    [
      ['retry', true],
      ['cancel', false],
    ],
  );
  assert.match(JSON.stringify((await root.get(`${adminPath}/steps`)).body), /ECONNREFUSED/);

  const refused = await root.post(`${adminPath}/retry`, { step: 'three' });
  assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
  const retried = await root.post(`${adminPath}/retry`, {});
  assert.deepEqual([retried.status, retried.body.state, retried.body.state_reason], [202, 'pending', null]);
  assert.equal((await root.post(`${adminPath}/retry`, {})).status, 409);
  await workerOf(app.db.database, [mended]).tick();
  assert.equal((await ada.get(path)).body.state, 'done');
  const { body: audit } = await ada.get(
    `/api/v1/organizations/${ada.organization_id}/audit-logs?action=workflow_run.retry`,
  );
  assert.ok(audit.items.length >= 1, 'the tenant finds the operator in its own audit log');
});

test('an operator cancels a waiting run once, and not after its end', async () => {
  const [ada, root] = [await app.user('beth'), await app.admin()];
  const waiting = scripted({ one: async () => wait(600_000, 'Waiting for a host.') });
  const run = await startFor(app, ada, waiting);
  await workerOf(app.db.database, [waiting]).tick();
  const path = `/api/v1/admin/workflow-runs/${run.id}`;
  const { body: before } = await root.get(path);
  assert.equal(before.state_reason, 'Waiting for a host.');
  assert.ok(before.wake_at !== null && before.state_deadline_at !== null);
  assert.equal((await root.post(`${path}/cancel`, { reason: 'Not needed.' })).status, 202);
  await workerOf(app.db.database, [waiting]).tick();
  const { body: after } = await root.get(path);
  assert.deepEqual([after.state, after.state_reason, after.wake_at], ['cancelled', 'Not needed.', null]);
  assert.equal((await root.post(`${path}/cancel`, {})).status, 409);
});

test("another tenant's run returns the same as a missing run, and so does another project's", async () => {
  const [ada, bob] = [await app.user('cleo'), await app.user('bob')];
  const run = await startFor(app, ada, broken);
  const made = await ada.post(`/api/v1/organizations/${ada.organization_id}/projects`, { name: 'second' });
  for (const [caller, project] of [
    [bob, bob.project_id],
    [ada, made.body.id],
  ] as const)
    for (const suffix of ['', '/steps']) {
      const theirs = await caller.get(`/api/v1/projects/${project}/workflow-runs/${run.id}${suffix}`);
      const missing = await caller.get(`/api/v1/projects/${project}/workflow-runs/${mintId('wfr')}${suffix}`);
      assert.deepEqual([theirs.status, theirs.body.detail], [404, 'No such workflow run.']);
      assert.deepEqual([missing.status, missing.body.detail], [404, 'No such workflow run.']);
    }
  assert.deepEqual((await bob.get(`/api/v1/projects/${bob.project_id}/workflow-runs`)).body.items, []);
});

test('runs are listed newest first in pages, and filters narrow them', async () => {
  const [ada, root] = [await app.user('dora'), await app.admin()];
  const listed = scripted({ one: async () => next('two'), two: async () => done() }, { name: 'listed' });
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push((await startFor(app, ada, listed, n === 2 ? 'cor-two' : 'cor-1')).id);
  await workerOf(app.db.database, [listed], { concurrency: 2 }).tick();
  const base = `/api/v1/projects/${ada.project_id}/workflow-runs`;
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await ada.get(`${base}?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
    seen.push(...body.items.map((item: { id: string }) => item.id));
    cursor = body.next_cursor;
  }
  assert.deepEqual(seen, [...ids].sort().reverse());
  const count = async (path: string) => (await root.get(path)).body.items.length;
  assert.equal((await ada.get(`${base}?state=done`)).body.items.length, 2);
  assert.equal(await count('/api/v1/admin/workflow-runs?correlation_id=cor-two'), 1);
  assert.equal(await count(`/api/v1/admin/workflow-runs?organization_id=${ada.organization_id}&workflow=listed`), 5);
  assert.equal(await count(`/api/v1/admin/workflow-runs?organization_id=${root.organization_id}`), 0);

  const steps = `${base}/${ids[0]}/steps?limit=1`;
  const { body: first } = await ada.get(steps);
  const { body: second } = await ada.get(`${steps}&cursor=${first.next_cursor}`);
  assert.deepEqual([first.items[0].outcome, second.items[0].outcome, second.next_cursor], ['next', 'done', null]);
  for (const key of [2 ** 40, 'x']) {
    const forged = Buffer.from(JSON.stringify(['workflowRunStepList', ada.project_id, key])).toString('base64url');
    assert.equal((await ada.get(`${steps}&cursor=${forged}`)).status, 400);
  }
});
