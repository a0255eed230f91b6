import '../../test/own-cluster.ts';
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pause, silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { aNode } from '../../test/placement.ts';
import { anAuditRow } from '../../test/rows.ts';
import { until } from '../../test/until.ts';
import { insertAuditLog } from '../db/audit.ts';
import { countLostRows } from '../db/audit-seal.ts';
import { createDatabase, type Database, PLATFORM, type Tx } from '../db/client.ts';
import type { IdentityChange } from '../domain/identity-change.ts';
import { createHeadsFile } from '../ports/objects/heads-file.ts';
import { createIdentityFile } from '../ports/objects/identity-file.ts';
import { verifyAudit } from '../services/audit-verify.ts';
import { RECONCILERS } from './index.ts';
import { startReconciler } from './reconciler.ts';
import { compareHeads, sealAudit } from './seal-audit.ts';

const headsFile = (t: TestContext) => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-heads-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const seed = randomBytes(32);
  return createHeadsFile({ file: join(dir, 'heads.jsonl'), seeds: () => [seed] });
};

const countSeals = (database: Database): Promise<{ rows: number; seals: number; sealed_rows: number }> =>
  database.read(PLATFORM, async (reader) => {
    const { rows } = await reader.query<{ rows: number; seals: number; sealed_rows: number }>(
      `select (select count(*) from audit_logs) as rows, (select count(*) from audit_seals) as seals,
         (select count(*) from audit_logs l join audit_seals s on s.audit_log_id = l.id) as sealed_rows`,
    );
    return rows[0] ?? { rows: -1, seals: -1, sealed_rows: -1 };
  });

test('a row that commits late is sealed after rows unknown to it, and none is left out', async (t) => {
  const { database } = await testDatabase(t);
  const heads = headsFile(t);
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const slow = database.write(PLATFORM, async (tx) => {
    await insertAuditLog(tx, anAuditRow({ action: 'late' }));
    begun.resolve();
    await gate.promise;
  });
  await begun.promise;
  await database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ action: 'early' })));
  await sealAudit({ database, heads });
  assert.equal((await countSeals(database)).seals, 0, 'nothing may be sealed past a running transaction');
  gate.resolve();
  await slow;
  await sealAudit({ database, heads });
  assert.deepEqual(await countSeals(database), { rows: 2, seals: 2, sealed_rows: 2 });
  assert.equal((await verifyAudit({ database, heads, archive: null, only: null })).intact, true);
});

test('rows are sealed while the heads file cannot be written, and the next turn that can writes the missing heads', async (t) => {
  const { database } = await testDatabase(t);
  const heads = headsFile(t);
  const full = {
    ...heads,
    append: () => Promise.reject(Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })),
  };
  const linesOf = async (): Promise<number> => {
    let lines = 0;
    for await (const line of heads.lines()) lines += Number(line.isSigned());
    return lines;
  };
  await database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ action: 'first' })));
  await assert.rejects(sealAudit({ database, heads: full }), /ENOSPC/);
  await database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ action: 'second' })));
  await assert.rejects(sealAudit({ database, heads: full }), /ENOSPC/);
  assert.deepEqual(await countSeals(database), { rows: 2, seals: 2, sealed_rows: 2 });
  assert.equal(await linesOf(), 0);
  await sealAudit({ database, heads });
  assert.equal(await linesOf(), 1);
  assert.equal((await verifyAudit({ database, heads, archive: null, only: null })).intact, true);
});

test('a change of an identity is in the file beside the heads before a head covers it, and a launch is not', async (t) => {
  const { database } = await testDatabase(t);
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-identities-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const identities = createIdentityFile<IdentityChange>(join(dir, 'identities'));
  const heads = headsFile(t);
  for (const action of ['ssh_key.delete', 'allocation.create', 'organization.member.remove'])
    await database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ action })));
  const failing = { ...heads, append: () => Promise.reject(new Error('no space')) };
  await assert.rejects(sealAudit({ database, heads: failing, identities }), /no space/);
  const actions = async () => (await identities.read()).map(({ action }) => action);
  assert.deepEqual(await actions(), ['ssh_key.delete', 'organization.member.remove']);
  await sealAudit({ database, heads, identities });
  // Written twice, at the same places: a restore lists it once.
  assert.equal(new Set((await identities.read()).map(({ sequence }) => sequence)).size, 2);
  await sealAudit({ database, heads, identities });
  assert.equal((await actions()).length, 4, 'what the heads cover is not written again');
});

test('a database that is older than the signed heads holds its nodes once, and a crash does not', async (t) => {
  const heads = headsFile(t);
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const site = async () => {
    const { database, ownerUrl } = await testDatabase(t);
    const sql = new Client({ connectionString: ownerUrl });
    await sql.connect();
    open.push(sql);
    const node = await aNode(sql);
    const write = (action: string) => database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ action })));
    const isHeld = async () =>
      (await sql.query('select restore_hold_id from nodes where id = $1', [node.id])).rows[0].restore_hold_id !== null;
    return { database, sql, write, isHeld };
  };
  const before = await site();
  await before.write('first');
  await sealAudit({ database: before.database, heads });
  await before.write('second');
  const late = {
    ...heads,
    append: async (...args: Parameters<typeof heads.append>) => {
      await heads.append(...args);
      throw new Error('killed');
    },
  };
  await assert.rejects(sealAudit({ database: before.database, heads: late }), /killed/);
  await compareHeads({ database: before.database, heads });
  assert.equal(await before.isHeld(), false, 'the rows of the unrecorded head are there');
  await sealAudit({ database: before.database, heads });

  // The backup is from before the first row, and the file is of today.
  const restored = await site();
  await compareHeads({ database: restored.database, heads });
  assert.equal(await restored.isHeld(), true);
  const { rows } = await restored.sql.query('select began_by, lost_changes, ended from restores');
  assert.deepEqual(
    rows.map(({ began_by, lost_changes, ended }) => [
      began_by,
      lost_changes.find((one: { organization_id: string | null }) => one.organization_id === 'org_a')?.audit_rows,
      ended.api_tokens,
    ]),
    [['the control plane', 2, 0]],
  );
  await restored.sql.query('update nodes set restore_hold_id = null');
  await compareHeads({ database: restored.database, heads });
  await sealAudit({ database: restored.database, heads });
  await restored.write('third');
  await sealAudit({ database: restored.database, heads });
  await compareHeads({ database: restored.database, heads });
  assert.equal(await restored.isHeld(), false, 'released by an operator, it stays released');
});

test('a sealer holds the nodes of a database that was exchanged under it', async (t) => {
  const heads = headsFile(t);
  const { database } = await testDatabase(t);
  await database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ action: 'first' })));
  await database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ action: 'second' })));
  await sealAudit({ database, heads });
  const other = await testDatabase(t);
  const sql = new Client({ connectionString: other.ownerUrl });
  await sql.connect();
  t.after(() => sql.end());
  await aNode(sql);
  await other.database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ action: 'first' })));
  await sealAudit({ database: other.database, heads });
  const { rows } = await sql.query('select count(*)::int as held from nodes where restore_hold_id is not null');
  assert.deepEqual(rows, [{ held: 1 }]);
  await sql.end();
});

test('many writers and two sealers give no false alarm and one seal per row', async (t) => {
  const { database, ownerUrl } = await testDatabase(t, { poolMax: 12 });
  const other = createDatabase({ url: ownerUrl, role: 'gpuaas_app', log: silentLog(), poolMax: 4 });
  const heads = headsFile(t);
  const stop = new AbortController();
  const sealers = [database, other].map((db, index) =>
    startReconciler({
      name: `sealer-${index}`,
      run: (signal) => sealAudit({ database: db, heads }, signal),
      intervalMs: 5,
      log: silentLog(),
      signal: stop.signal,
    }),
  );
  const alarms: unknown[] = [];
  const watch = async () => {
    while (!stop.signal.aborted) {
      const report = await verifyAudit({ database: other, heads, archive: null, only: null });
      if (!report.intact) alarms.push(report.chains.flatMap((chain) => chain.findings));
    }
  };
  const watching = watch();
  let committed = 0;
  const writer = async (number: number) => {
    for (let i = 0; i < 40; i++) {
      const fails = i % 10 === 9;
      const work = async (tx: Tx) => {
        for (let k = 0; k < 3; k++)
          await insertAuditLog(tx, anAuditRow({ organization_id: k === 2 ? null : `org_${number % 3}` }));
        // Some transactions stay open while others begin and end.
        if ((i + number) % 7 === 0) await tx.query('select pg_sleep(0.02)');
        if (fails) throw new Error('rolled back');
      };
      await database.write(PLATFORM, work).then(
        () => (committed += 3),
        () => assert.ok(fails),
      );
    }
  };
  await Promise.all(Array.from({ length: 6 }, (_, number) => writer(number)));
  await until('every row is sealed', async () => (await countSeals(database)).seals >= committed);
  stop.abort();
  await Promise.all([...sealers.map((sealer) => sealer.stop()), watching]);
  assert.deepEqual(await countSeals(database), { rows: committed, seals: committed, sealed_rows: committed });
  await sealAudit({ database, heads });
  const report = await verifyAudit({ database, heads, archive: null, only: null });
  assert.deepEqual(alarms, []);
  assert.equal(report.intact, true);
  assert.deepEqual(
    report.chains.map((chain) => chain.chain),
    ['org_0', 'org_1', 'org_2', 'platform'],
  );
  await other.end();
});

test('with the interval of production no committed row stays unsealed for a second', async (t) => {
  const { database } = await testDatabase(t);
  const heads = headsFile(t);
  const intervalMs = RECONCILERS.find(({ name }) => name === 'seal-audit')?.interval_ms ?? Infinity;
  const sealer = startReconciler({
    name: 'seal-audit',
    run: (signal) => sealAudit({ database, heads }, signal),
    intervalMs,
    log: silentLog(),
    signal: new AbortController().signal,
  });
  /** The age of the oldest row of this action when it was sealed. */
  const oldestMs = async (action: string): Promise<number> => {
    for (let row = 0; row < 25; row++) {
      await database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ action })));
      await pause(50);
    }
    await until('every row is sealed', async () => {
      const { rows, seals } = await countSeals(database);
      return rows === seals;
    });
    const { rows } = await database.read(PLATFORM, (reader) =>
      reader.query<{ ms: number }>(
        `select max(extract(epoch from s.sealed_at - l.created_at) * 1000)::integer as ms
         from audit_logs l join audit_seals s on s.audit_log_id = l.id where l.action = $1`,
        [action],
      ),
    );
    return rows[0]?.ms ?? Infinity;
  };
  try {
    // A busy machine may delay one of the rounds; a longer interval delays them all.
    const rounds: number[] = [];
    while (rounds.length < 5 && !rounds.some((ms) => ms < 1_000)) rounds.push(await oldestMs(`round-${rounds.length}`));
    assert.ok(Math.min(...rounds) < 1_000, `${rounds} ms`);
  } finally {
    await sealer.stop();
  }
});

test('a log of several batches is sealed in one turn and read back in pages', async (t) => {
  const { database } = await testDatabase(t);
  const heads = headsFile(t);
  await database.write(PLATFORM, async (tx) => {
    for (let i = 0; i < 1_203; i++)
      tx.defer(insertAuditLog(tx, anAuditRow({ organization_id: i % 4 === 0 ? null : 'org_a' })));
  });
  await sealAudit({ database, heads });
  const report = await verifyAudit({ database, heads, archive: null, only: null });
  assert.equal(report.intact, true);
  assert.deepEqual(
    report.chains.map((chain) => chain.rows_sealed),
    [902, 301],
  );
});

test('a database whose transaction counter went back stops the sealer with an error', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  const owner = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  await owner.write(PLATFORM, (tx) => tx.query("update audit_sealer set sealed_xid = '4611686018427387904'"));
  await owner.end();
  await assert.rejects(sealAudit({ database, heads: headsFile(t) }), /transaction counter/);
});

test('the application may neither change nor delete audit rows and seals', async (t) => {
  const { database } = await testDatabase(t);
  await database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow()));
  for (const sql of [
    "update audit_logs set action = 'x'",
    'delete from audit_logs',
    'delete from audit_seals',
    'truncate audit_logs',
  ])
    await assert.rejects(
      database.write(PLATFORM, (tx) => tx.query(sql)),
      /permission denied/,
    );
});

test('a heads file that hangs delays no seal; the log names it, and the heads follow when it responds', async (t) => {
  const { database } = await testDatabase(t);
  const file = headsFile(t);
  const hung = Promise.withResolvers<void>();
  let appends = 0;
  const heads: typeof file = {
    ...file,
    append: async (...args) => {
      appends += 1;
      await hung.promise;
      return file.append(...args);
    },
  };
  const seal = () => sealAudit({ database, heads, heads_wait_ms: 1 });
  for (let row = 1; row <= 3; row++) {
    await database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow()));
    await assert.rejects(seal(), /heads file has not responded/);
    assert.equal((await countSeals(database)).seals, row);
  }
  assert.equal(appends, 1, 'a write that hangs is not started again');
  hung.resolve();
  await sealAudit({ database, heads });
  await sealAudit({ database, heads });
  assert.equal((await verifyAudit({ database, heads: file, archive: null, only: null })).intact, true);
  let lines = 0;
  for await (const _ of file.lines()) lines += 1;
  assert.ok(lines > 0);
});

test('changes that a failover lost are reported from the heads outside the database, once, until a restore is begun', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  const owner = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  const heads = headsFile(t);
  const write = (organization_id: string) =>
    database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ organization_id })));
  const TABLES = ['audit_logs', 'audit_seals', 'audit_chains', 'audit_sealer'];
  const asOwner = (...statements: readonly string[]) =>
    owner.write(PLATFORM, async (tx) => {
      await tx.query('set local session_replication_role = replica');
      for (const sql of statements) await tx.query(sql);
    });
  /** The replica has everything up to now. */
  const replicate = () => asOwner(...TABLES.map((name) => `create table replica_${name} as table ${name}`));
  const promote = () =>
    asOwner(...TABLES.flatMap((name) => [`delete from ${name}`, `insert into ${name} select * from replica_${name}`]));
  const lost = () => database.read(PLATFORM, countLostRows);
  const reports = async () =>
    (
      await database.read(PLATFORM, (reader) =>
        reader.query("select metadata -> 'lost' as lost from audit_logs where action = 'audit_heads.lose'"),
      )
    ).rows;
  const seal = () => sealAudit({ database, heads });
  const watch = () => compareHeads({ database, heads });
  try {
    await write('org_a');
    await write('org_b');
    await seal();
    await replicate();
    await watch();
    assert.equal(await lost(), 0);
    for (const organization of ['org_a', 'org_a', 'org_c']) await write(organization);
    await seal();
    await watch();
    assert.equal(await lost(), 0, 'the database has everything');
    await promote();
    await watch();
    assert.equal(await lost(), 3, 'an idle site reports it too');
    await watch();
    await seal();
    await write('org_a');
    await seal();
    await seal();
    await watch();
    assert.equal(await lost(), 3);
    assert.deepEqual(await reports(), [
      {
        lost: [
          { chain: 'org_a', rows: 2 },
          { chain: 'org_c', rows: 1 },
        ],
      },
    ]);
    await asOwner(
      "insert into restores (id, began_by, reason, older_than, ended, lost_changes, correlation_id) values ('rst_a', 'u', 'r', now(), '{}', '[]', 'c')",
    );
    assert.equal(await lost(), 0, 'an operator has begun a restore');

    // Another failover, on a busy site: the first rows after it take the places of the lost ones.
    await promote();
    await write('org_b');
    await write('org_a');
    await seal();
    assert.ok((await lost()) >= 1, String(await lost()));
  } finally {
    await owner.end();
  }
});

test('heads that were written without their record, because the process died, are no loss', async (t) => {
  const { database } = await testDatabase(t);
  const heads = headsFile(t);
  await database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow()));
  const dying = {
    ...heads,
    append: async (...args: Parameters<typeof heads.append>) => {
      await heads.append(...args);
      throw new Error('killed');
    },
  };
  await assert.rejects(sealAudit({ database, heads: dying }), /killed/);
  assert.equal(await heads.lastLine(), 1);
  await compareHeads({ database, heads });
  await sealAudit({ database, heads });
  assert.equal(await database.read(PLATFORM, countLostRows), 0);
  assert.equal(await heads.lastLine(), 2);
});
