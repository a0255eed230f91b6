import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { aGrant } from '../../test/access.ts';
import { testDatabase } from '../../test/database.ts';
import { playHost, settle, truth } from '../../test/host.ts';
import { type AllocationFacts, aNode, anAllocation } from '../../test/placement.ts';
import { runFaults } from '../../test/workflow-faults.ts';
import { revokeGrant } from '../db/access-grant.ts';
import { PLATFORM, type Tx } from '../db/client.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { usernameOf } from '../domain/host-name.ts';
import { REASONS } from '../domain/reasons.ts';
import { refreshSummary } from '../placement/summary.ts';
import { revokeGrants } from '../reconcilers/revoke-grants.ts';
import { revokeLostGrant, sendPendingKeys } from './access-grant.ts';
import { startRun } from './engine/run.ts';
import { createKeysDeps, installKeys } from './install-keys.ts';
import { provisionBaremetal } from './provision-baremetal.ts';
import { provisionSlice } from './provision-slice.ts';
import { startRelease } from './start-cleanup.ts';
import { startPowerChange } from './start-power-change.ts';

const KIND = 'allocation.install_authorized_keys';

const open = async (t: TestContext) => {
  const clients: Client[] = [];
  t.after(() => Promise.all(clients.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  clients.push(sql);
  const write = <T>(fn: (tx: Tx) => Promise<T>) => database.write(PLATFORM, fn);
  const anActive = async (facts: Omit<AllocationFacts, 'node'> = { state: 'active' }) => {
    const node = await aNode(sql);
    const made = await anAllocation(sql, { node, ...facts });
    await write((tx) => refreshSummary(tx, node.id));
    return made;
  };
  const aUser = async () => {
    const id = mintId('usr');
    await sql.query("insert into users (id, issuer, subject, name) values ($1, 'test', $1, 'Member')", [id]);
    return id;
  };
  const stateOf = async (id: string): Promise<string> =>
    (await sql.query('select state from allocation_access_grants where id = $1', [id])).rows[0].state;
  const keyOf = async (id: string): Promise<string> =>
    (await sql.query('select public_key from allocation_access_grants where id = $1', [id])).rows[0].public_key;
  const tell = (id: string) => write((tx) => sendPendingKeys(tx, id));
  const takeBack = (id: string, allocation_id: string) =>
    write((tx) => revokeLostGrant(tx, { id, allocation_id, reason: 'The key was deleted.', correlation_id: 'test' }));
  /** A host that responds, and the keys it received. */
  const told: NodeTaskRow[] = [];
  const hear = (task: NodeTaskRow) => {
    if (task.kind === KIND) told.push(task);
    return truth(task);
  };
  return { database, sql, write, anActive, aUser, stateOf, keyOf, tell, takeBack, told, hear };
};

const keysOf = (task: NodeTaskRow | undefined) => task?.params['ssh_public_keys'];

test('install-keys survives every fault: installed at least once, or failed with a reason', async (t) => {
  const { database, sql, anActive, aUser } = await open(t);
  const deps = createKeysDeps({ database, retry_delay_ms: 0 });
  const user = await aUser();
  await runFaults({
    database,
    workflow: installKeys,
    fresh: async () => {
      const allocation = await anActive();
      await aGrant(sql, allocation, user, 'pending');
      await aGrant(sql, allocation, user, 'revoking');
      return { deps, subject_id: allocation.id };
    },
    answer: async () => void (await playHost(database)),
    check: async ({ subject_id }, run) => {
      const { rows } = await sql.query(
        `select g.state, g.state_reason is not null as has_reason,
           (select count(*) from audit_logs l where l.target_id = g.id)::int as audited,
           (select count(*) from outbox_events e where e.subject = g.id)::int as told
         from allocation_access_grants g where g.allocation_id = $1 order by g.state`,
        [subject_id],
      );
      const once = { audited: 1, told: 1 };
      const whole = [
        { state: 'installed', has_reason: false, ...once },
        { state: 'revoked', has_reason: false, ...once },
      ];
      const failed = [
        { state: 'failed', has_reason: true, ...once },
        { state: 'revoking', has_reason: true, ...once },
      ];
      assert.deepEqual(rows, rows[0]?.state === 'installed' ? whole : failed);
      if (run.state === 'done' && run.state_reason === null) assert.deepEqual(rows, whole);
    },
    // Each execution loads and checks; the second settles the installation, the third finds nothing left.
    expected: { path: ['installKeys', 'installKeys', 'installKeys'], calls: 7 },
  });
});

for (const shape of ['gpu_slice', 'baremetal'] as const)
  test(`the VM of a ${shape} gets the full set of keys: of the launch and of live grants`, async (t) => {
    const { database, sql, anActive, aUser, stateOf, keyOf, tell, told, hear } = await open(t);
    const user = await aUser();
    const allocation = await anActive({ shape, state: 'active' });
    await sql.query("insert into tenant_memberships (organization_id, user_id, role) values ($1, $2, 'owner')", [
      allocation.organization_id,
      user,
    ]);
    const [launch, installed, pending, revoking] = [
      await aGrant(sql, allocation, user),
      await aGrant(sql, allocation, user),
      await aGrant(sql, allocation, user, 'pending'),
      await aGrant(sql, allocation, user, 'revoking'),
    ];
    // The first becomes a launch key instead.
    await sql.query(
      `with gone as (delete from allocation_access_grants where id = $2 returning ssh_key_id)
       update allocations set ssh_key_ids = array(select ssh_key_id from gone) where id = $1`,
      [allocation.id, launch],
    );
    const launchKey = (
      await sql.query(
        'select public_key from ssh_keys k join allocations a on k.id = any (a.ssh_key_ids) where a.id = $1',
        [allocation.id],
      )
    ).rows[0].public_key;
    await tell(allocation.id);
    await settle(database, { answer: hear });
    assert.equal(told.length, 1);
    assert.deepEqual(
      new Set(keysOf(told[0]) as string[]),
      new Set([launchKey, await keyOf(installed), await keyOf(pending)]),
    );
    assert.equal(told[0]?.params['username'], shape === 'baremetal' ? usernameOf(allocation.id) : null);
    assert.deepEqual([await stateOf(pending), await stateOf(revoking)], ['installed', 'revoked']);
  });

test('keys granted and revoked during an installation are installed in another round', async (t) => {
  const { database, sql, anActive, aUser, stateOf, keyOf, tell, takeBack, told, hear } = await open(t);
  const user = await aUser();
  const allocation = await anActive();
  const first = await aGrant(sql, allocation, user, 'pending');
  let second = '';
  await tell(allocation.id);
  await settle(database, {
    host: async () => {
      const tasks = await playHost(database, { answer: hear });
      if (tasks.length > 0 && second === '') {
        second = await aGrant(sql, allocation, user, 'pending');
        await takeBack(first, allocation.id);
      }
      return tasks.length;
    },
  });
  assert.deepEqual(
    told.map((task) => task.kind),
    [KIND, KIND],
  );
  assert.deepEqual(keysOf(told[1]), [await keyOf(second)]);
  assert.deepEqual([await stateOf(first), await stateOf(second)], ['revoked', 'installed']);
});

test('a VM that refuses three times fails the grant; a revocation stays pending and is installed later', async (t) => {
  const { database, sql, anActive, aUser, stateOf, tell } = await open(t);
  const user = await aUser();
  const allocation = await anActive();
  const [pending, revoking] = [
    await aGrant(sql, allocation, user, 'pending'),
    await aGrant(sql, allocation, user, 'revoking'),
  ];
  await tell(allocation.id);
  const kinds = await settle(database, { answer: () => null });
  assert.deepEqual(kinds, [KIND, KIND, KIND]);
  assert.deepEqual([await stateOf(pending), await stateOf(revoking)], ['failed', 'revoking']);
  // A failed key is part of the next full set.
  await tell(allocation.id);
  await settle(database);
  assert.deepEqual([await stateOf(pending), await stateOf(revoking)], ['installed', 'revoked']);
});

for (const { workflow, shape, kind } of [
  { workflow: provisionSlice, shape: 'gpu_slice', kind: 'slice.vm_start' },
  { workflow: provisionBaremetal, shape: 'baremetal', kind: 'allocation.provision_user' },
] as const)
  test(`a ${shape} starts with the keys granted before, and gets those granted after`, async (t) => {
    const { database, sql, write, anActive, aUser, stateOf, keyOf, told, hear } = await open(t);
    const user = await aUser();
    const allocation = await anActive({ shape, state: 'requested' });
    const early = await aGrant(sql, allocation, user, 'pending');
    const taken = await aGrant(sql, allocation, user, 'revoking');
    let late = '';
    let started: NodeTaskRow | undefined;
    await write((tx) =>
      startRun(tx, {
        workflow,
        subject_id: allocation.id,
        organization_id: null,
        project_id: null,
        correlation_id: 'test',
      }),
    );
    await settle(database, {
      host: async () => {
        const tasks = await playHost(database, { answer: hear });
        started ??= tasks.find((task) => task.kind === kind);
        if (started !== undefined && late === '') late = await aGrant(sql, allocation, user, 'pending');
        return tasks.length;
      },
    });
    assert.deepEqual(keysOf(started), [await keyOf(early)]);
    assert.deepEqual(
      told.map((task) => (keysOf(task) as string[]).length),
      [2],
    );
    for (const id of [early, late]) assert.equal(await stateOf(id), 'installed');
    assert.equal(await stateOf(taken), 'revoked');
  });

test('a revocation at the moment at which a run ends is installed at once, under the ID of the revocation', async (t) => {
  const { database, sql, write, anActive, aUser, stateOf, tell, hear } = await open(t);
  const allocation = await anActive();
  const grant = await aGrant(sql, allocation, await aUser(), 'pending');
  await tell(allocation.id);
  await settle(database, { answer: hear });
  assert.equal(await stateOf(grant), 'installed');
  // It joined the run, which had looked for the last time.
  await write((tx) => revokeGrant(tx, grant, { reason: REASONS.owner_left_project, correlation_id: 'c-the-removal' }));
  await revokeGrants({ database });
  const { rows } = await sql.query(
    'select correlation_id from workflow_runs where subject_id = $1 and finished_at is null',
    [allocation.id],
  );
  assert.deepEqual(rows, [{ correlation_id: 'c-the-removal' }]);
  await settle(database, { answer: hear });
  assert.equal(await stateOf(grant), 'revoked');
});

test('a VM that is off gets its keys when it is on again', async (t) => {
  const { database, sql, write, anActive, aUser, stateOf, tell, told, hear } = await open(t);
  const user = await aUser();
  const allocation = await anActive();
  const change = (to: 'stop' | 'start') =>
    write((tx) =>
      startPowerChange(tx, {
        allocation_id: allocation.id,
        change: to,
        grace_s: null,
        correlation_id: 'test',
        check: () => undefined,
      }),
    );
  await change('stop');
  await settle(database, { answer: hear });
  const grant = await aGrant(sql, allocation, user, 'pending');
  await tell(allocation.id);
  await settle(database, { answer: hear });
  assert.deepEqual([told.length, await stateOf(grant)], [0, 'pending']);
  await change('start');
  await settle(database, { answer: hear });
  assert.deepEqual([told.length, await stateOf(grant)], [1, 'installed']);
});

test('a reinstalled VM has the keys of its first boot', async (t) => {
  const { database, sql, write, anActive, aUser, stateOf, told, hear } = await open(t);
  const allocation = await anActive();
  const grant = await aGrant(sql, allocation, await aUser(), 'failed');
  await write((tx) =>
    startPowerChange(tx, {
      allocation_id: allocation.id,
      change: 'reinstall',
      grace_s: 5,
      correlation_id: 'test',
      check: () => undefined,
    }),
  );
  await settle(database, { answer: hear });
  assert.deepEqual([told.length, await stateOf(grant)], [0, 'installed']);
});

test('releasing an allocation ends all its grants', async (t) => {
  const { sql, write, anActive, aUser, stateOf } = await open(t);
  const user = await aUser();
  const allocation = await anActive();
  const grants = [];
  for (const state of ['pending', 'installed', 'failed', 'revoking'] as const)
    grants.push(await aGrant(sql, allocation, user, state));
  await write((tx) => startRelease(tx, { allocation_id: allocation.id, reason: 'Test.' }));
  for (const id of grants) assert.equal(await stateOf(id), 'revoked');
});
