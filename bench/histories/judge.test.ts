/** Each judge finds what it is for: a model that agrees, and the same one with one thing wrong. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { BaseTenant } from './base.ts';
import {
  type Found,
  judgeAudit,
  judgeEvents,
  judgeGrants,
  judgeHosts,
  judgeInvariants,
  judgeLaunch,
  judgePower,
  judgeQuota,
  judgeStreams,
  judgeUsage,
} from './judge.ts';
import { createObserved, type Decision, type Launch, type Observed } from './observed.ts';
import { judgeRefusals } from './refusal.ts';
import { recover, settle } from './settle.ts';
import type { Reply, World } from './world.ts';

const AMBER: BaseTenant = {
  ...{ name: 'amber', organization_id: 'org_a', project_id: 'prj_a', user_id: 'usr_a', ssh_key_id: 'key_a' },
};
const AT = '2026-01-01T00:00:00.000Z';
const LATER = '2026-01-01T01:00:00.000Z';
const FOUND: Found = {
  ...{ id: 'alc_a', state: 'active', version: 3, gpu_count: 1, power: { state: 'on' } },
  ...{ activated_at: AT, release_requested_at: null },
};
const changed = (...states: readonly string[]) =>
  states.map((state, index) => ({ id: `evt_${index}`, type: 'allocation.changed', subject: 'alc_a', data: { state } }));
const powered = (...states: readonly string[]) =>
  states.map((power_state, index) => ({
    ...{ id: `evt_p${index}`, type: 'allocation.power_changed', subject: 'alc_a', data: { power_state } },
  }));
const seen = (change: Partial<Observed['sightings'][number]> = {}) => ({
  ...{ id: 'alc_a', state: 'active', power: 'on', version: 3, began: 1, ended: 2 },
  ...change,
});
const observed = (): Observed => createObserved([AMBER]);

/** A world that answers reads with these bodies and queries with these rows, in turn. */
const aWorld = (
  bodies: readonly Reply[],
  rows: readonly (readonly object[])[] = [],
  hosts: World['hosts'] = [],
): World => {
  const [replies, results] = [[...bodies], [...rows]];
  const world: Partial<World> = {
    base: { tenants: [AMBER] } as unknown as World['base'],
    call: async () => replies.shift() ?? { status: 404, body: null },
    sql: { query: async () => ({ rows: results.shift() ?? [] }) } as unknown as World['sql'],
    hosts,
    processes: async () => [],
    clock: { now: () => new Date(), advance: () => {} },
  };
  return world as World;
};
const ok = (body: unknown): Reply => ({ status: 200, body });

test('events that skip a state, begin late or end elsewhere are found, and a response that no event explains', () => {
  const path = ['requested', 'provisioning', 'active'];
  const model = observed();
  model.sightings.push(seen());
  assert.deepEqual(judgeEvents(FOUND, changed(...path), model), []);
  assert.match(judgeEvents(FOUND, changed('requested', 'active'), model).join(), /go from requested to active/);
  assert.match(judgeEvents(FOUND, changed('provisioning', 'active'), model).join(), /first event is provisioning/);
  assert.match(judgeEvents(FOUND, changed('requested', 'provisioning'), model).join(), /last event says provisioning/);
  model.sightings.push(seen({ state: 'failed' }));
  assert.match(judgeEvents(FOUND, changed(...path), model).join(), /showed failed, and no event does/);
  const back = observed();
  back.sightings.push(seen(), seen({ version: 2, began: 3, ended: 4 }));
  assert.match(judgeEvents(FOUND, changed(...path), back).join(), /showed version 3, and a later one 2/);
});

test('power that skips a move, ends elsewhere or is shown without an event is found', () => {
  const model = observed();
  model.sightings.push(seen());
  assert.deepEqual(judgePower(FOUND, powered('stopping', 'off', 'starting', 'on'), model), []);
  assert.match(judgePower(FOUND, powered('off', 'rebooting'), model).join(), /goes from off to rebooting/);
  assert.match(judgePower(FOUND, powered('stopping'), model).join(), /last event says stopping/);
  model.sightings.push(seen({ power: 'rebooting' }));
  assert.match(judgePower(FOUND, [], model).join(), /showed power rebooting/);
});

test('usage that is missing, doubled or of other times is found', () => {
  const open = { started_at: AT, ended_at: null };
  assert.deepEqual(judgeUsage(FOUND, [open]), []);
  assert.match(judgeUsage(FOUND, []).join(), /0 usage records, and should have 1/);
  assert.match(judgeUsage(FOUND, [open, open]).join(), /2 usage records/);
  assert.match(judgeUsage(FOUND, [{ started_at: LATER, ended_at: null }]).join(), /not charged from its activation/);
  assert.match(judgeUsage(FOUND, [{ started_at: AT, ended_at: LATER }]).join(), /is active, charged until/);
  const released: Found = { ...FOUND, state: 'released', release_requested_at: LATER };
  assert.match(judgeUsage(released, [{ started_at: AT, ended_at: AT }]).join(), /not charged until its release/);
});

test('a grant that is not listed, differs from its event or came back is found', async () => {
  const judge = async (items: readonly object[], told: string, is_revoked = false) => {
    const model = observed();
    model.grants.push({ allocation_id: 'alc_a', project_id: 'prj_a', id: 'grt_a', tenant: AMBER, is_revoked });
    const data = { access_grant_id: 'grt_a', state: told };
    model.events.set('prj_a', [{ id: 'evt_a', type: 'allocation.access_grant.changed', subject: 'grt_a', data }]);
    return (await judgeGrants({ world: aWorld([ok({ items })]), observed: model, number: 0 })).join();
  };
  assert.equal(await judge([{ id: 'grt_a', state: 'installed' }], 'installed'), '');
  assert.match(await judge([], 'installed'), /is not listed/);
  assert.match(await judge([{ id: 'grt_a', state: 'pending' }], 'installed'), /its events say installed/);
  assert.match(await judge([{ id: 'grt_a', state: 'installed' }], 'installed', true), /was revoked and is installed/);
});

test('a stream that misses, repeats or reorders an event is found', async () => {
  const judge = async (ids: readonly string[], wrong: readonly string[] = []) => {
    const model = observed();
    model.events.set('prj_a', [...changed('requested'), ...changed('requested', 'provisioning', 'active').slice(1)]);
    const followed = { tenant: AMBER, ids, wrong, has: async () => false, stop: async () => {} };
    model.streams.push({ followed, last: 'evt_0' });
    return (await judgeStreams({ world: aWorld([]), observed: model, number: 0 })).join();
  };
  assert.equal(await judge(['evt_1', 'evt_2']), '');
  for (const ids of [['evt_1'], ['evt_2', 'evt_1'], ['evt_1', 'evt_1', 'evt_2'], ['evt_1', 'evt_2', 'evt_2']])
    assert.match(await judge(ids), /the stream of amber has/);
  assert.match(await judge(['evt_1', 'evt_2'], ['it ended']), /it ended/);
});

test('a launch that is missing, doubled, of another id or exists though refused is found', async () => {
  const launch = (status: number): Launch => ({
    ...{ tenant: AMBER, project_id: 'prj_a', name: 'launch-1', key: 'k', gpu_count: 1, body: {} },
    reply: { status, body: { id: 'alc_a' } },
  });
  const judge = async (status: number, ids: readonly string[], read: Reply = ok(FOUND)) => {
    const model = observed();
    model.events.set('prj_a', changed('requested', 'provisioning', 'active'));
    const usage = ok({ items: [{ started_at: AT, ended_at: null }] });
    const world = aWorld([read, usage], [ids.map((id) => ({ id }))]);
    return (await judgeLaunch({ world, observed: model, number: 0 }, launch(status))).join();
  };
  assert.equal(await judge(202, ['alc_a']), '');
  assert.match(await judge(202, []), /got 202, and there are 0/);
  assert.match(await judge(0, ['alc_a', 'alc_b']), /got 0, and there are 2/);
  assert.match(await judge(409, ['alc_a']), /got 409, and there are 1/);
  assert.match(await judge(202, ['alc_b']), /the allocation is alc_b/);
  assert.match(await judge(202, ['alc_a'], { status: 403, body: null }), /cannot be read: 403/);
});

test('quota that is not what is held is found', async () => {
  const judge = (used: number) => judgeQuota(aWorld([ok({ organization: { gpu_used: used } })], [[{ gpus: 2 }]]));
  assert.deepEqual(await judge(2), []);
  assert.match((await judge(3)).join(), /uses 3 GPUs of its quota, and holds 2/);
});

test('a change without an audit row, a refused one with a row and a broken chain are found', async () => {
  const judge = async (status: number, n: number, intact = true) => {
    const model = observed();
    model.changes.push({ what: 'POST x', correlation_id: 'history-1', status });
    const rows = n === 0 ? [] : [{ correlation_id: 'history-1', n }];
    return (await judgeAudit(aWorld([ok({ intact })], [rows]), model)).join();
  };
  assert.equal(await judge(202, 1), '');
  assert.equal(await judge(0, 0), '');
  for (const [status, n] of [
    [202, 0],
    [202, 2],
    [409, 1],
    [0, 2],
  ] as const)
    assert.match(await judge(status, n), new RegExp(`got ${status} and has ${n} audit rows`));
  assert.match(await judge(202, 1, false), /the audit chain is not intact/);
});

test('data on an available disk, of another tenant, and a VM without a claim are found', async (t) => {
  const machine = mkdtempSync(join(tmpdir(), 'gpuaas-judge-'));
  t.after(() => rmSync(machine, { recursive: true, force: true }));
  mkdirSync(join(machine, 'disks'));
  writeFileSync(
    join(machine, 'disks', 'S1.img'),
    Buffer.concat([Buffer.alloc(128 * 1024), Buffer.from('secret of alc_a')]),
  );
  const domain = { allocation_id: 'alc_a', name: 'gpuaas-alc-a', state: 'running' };
  const judge = async (slot: object, claims: readonly object[], domains: readonly object[] = []) => {
    writeFileSync(join(machine, 'state.json'), JSON.stringify({ domains }));
    const hosts = [{ node: { id: 'nod_a', spec: { name: 'hist-a' } }, machine }] as unknown as World['hosts'];
    const row = { id: 'slt_a', node_id: 'nod_a', nvme_serial: 'S1', holder: null, ...slot };
    return (await judgeHosts(aWorld([], [[row], claims], hosts))).join();
  };
  const claim = { allocation_id: 'alc_a', node_id: 'nod_a' };
  assert.equal(await judge({ status: 'in_use', holder: 'alc_a' }, [claim], [domain]), '');
  assert.match(await judge({ status: 'available' }, []), /is available with data of alc_a/);
  assert.match(await judge({ status: 'in_use', holder: 'alc_b' }, []), /in use by alc_b with data of alc_a/);
  assert.match(await judge({ status: 'cleaning' }, [], [domain]), /its allocation has no claim there/);
});

test('a violated invariant is found', async () => {
  assert.deepEqual(await judgeInvariants(aWorld([])), []);
  const found = await judgeInvariants(aWorld([], [[{ subject_id: 'alc_a', detail: 'two owners' }]]));
  assert.match(found.join(), /alc_a: two owners/);
});

test('a refusal that nothing explains, and a launch into a deleted project, are found', () => {
  const judge = (change: Partial<Decision>, prepare: (model: Observed) => void = () => {}) => {
    const model = observed();
    const launched = { ...{ tenant: AMBER, project_id: 'prj_a', name: 'l', key: 'k', gpu_count: 2, body: {} } };
    model.launches.push({ ...launched, reply: { status: 202, body: { id: 'alc_a' } } });
    prepare(model);
    const asked = { what: 'it', kind: 'launch', tenant: 'amber', project_id: 'prj_a', target: null, gpus: 4 } as const;
    model.decisions.push({ ...asked, status: 202, code: null, began: 5, ...change });
    return judgeRefusals(model).join();
  };
  const deleted = (ended: number) => (model: Observed) =>
    void model.deletions.push({ project_id: 'prj_a', status: 204, ended });
  assert.equal(judge({}), '');
  assert.match(judge({}, deleted(3)), /its project was deleted before/);
  assert.equal(judge({}, deleted(7)), '', 'the two crossed');
  assert.match(judge({ status: 404, code: 'not_found' }), /no one deleted the project/);
  assert.equal(judge({ status: 404, code: 'not_found' }, deleted(3)), '');
  const over = { status: 409, code: 'quota_exceeded' };
  const limited = (limit: number) => (model: Observed) => void model.limits.set('amber', [null, limit]);
  assert.match(judge(over), /no limit was below 6 GPUs/);
  assert.match(judge(over, limited(6)), /no limit was below 6 GPUs/);
  assert.equal(judge(over, limited(5)), '');
  const release = { kind: 'release', target: 'alc_a', gpus: 0, status: 409, code: 'conflict' } as const;
  const told =
    (...states: string[]) =>
    (model: Observed) =>
      void model.events.set('prj_a', changed(...states));
  assert.match(judge(release, told('requested', 'provisioning', 'active')), /has not ended, and was never protected/);
  assert.equal(judge(release, told('requested', 'failed')), '');
  assert.equal(
    judge(release, (model) => void model.protections.add('alc_a')),
    '',
  );
});

test('work that does not end is found, and a cleanup that stays blocked after its retry', async () => {
  const open = [{ what: 'run wfr_a release-allocation/wipe is waiting' }];
  assert.deepEqual(await settle(aWorld([]), 0), []);
  assert.match((await settle(aWorld([], [open, [], open]), 0)).join(), /not settled: run wfr_a/);
  assert.equal(await recover(aWorld([]), 0), null);
  const blocked = [{ id: 'alc_a', run_id: null, reason: 'The wipe failed.' }];
  assert.deepEqual(await recover(aWorld([], [blocked, [], [], []]), 10_000), []);
  const stays = await recover(aWorld([], [blocked, [], [], [], blocked]), 10_000);
  assert.match((stays ?? []).join(), /blocked on healthy hosts, after a retry: alc_a: The wipe failed\./);
});
