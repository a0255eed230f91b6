/** Old audit rows leave the database for signed segments, and the chain still verifies from its first row. */
import '../../test/own-cluster.ts';
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog, systemClock } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { anAuditRow } from '../../test/rows.ts';
import { testSecrets } from '../../test/secrets.ts';
import { until } from '../../test/until.ts';
import type { ReadCtx } from '../context.ts';
import { insertAuditLog } from '../db/audit.ts';
import { PLATFORM, type Reader } from '../db/client.ts';
import { createHeadsFile } from '../ports/objects/heads-file.ts';
import { createSegmentFiles } from '../ports/objects/segment-files.ts';
import { auditLogExport, auditLogList } from '../services/audit-log.ts';
import { verifyAudit } from '../services/audit-verify.ts';
import { archiveAudit } from './archive-audit.ts';
import { sealAudit } from './seal-audit.ts';

const ORG = 'org_a';
const ONLINE_DAYS = 400;

const bench = async (t: TestContext) => {
  // Closed before the database is dropped.
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-archive-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const owner = new Client({ connectionString: ownerUrl });
  await owner.connect();
  open.push(owner);
  const audit_archive_dir = join(dir, 'archive');
  const secrets = testSecrets();
  const files = createSegmentFiles({
    directory: audit_archive_dir,
    seeds: () => secrets.deriveByVersion('audit-segments', 32),
  });
  const audit_heads_file = join(dir, 'heads.jsonl');
  const heads = createHeadsFile({ file: audit_heads_file, seeds: () => secrets.deriveByVersion('audit-heads', 32) });
  const verify = (archive: typeof files | null = files) => verifyAudit({ database, heads, archive, only: null });
  const asAttacker = async (sql: string): Promise<void> => {
    await owner.query('set session_replication_role = replica');
    await owner.query(sql);
    await owner.query('set session_replication_role = origin');
  };
  const context = (operation: string): ReadCtx =>
    ({
      deps: {
        database,
        config: { audit_heads_file, audit_archive_dir },
        secrets,
        clock: systemClock,
        log: silentLog(),
      },
      operation,
      principal: null,
      organization_id: ORG,
      project_id: null,
      read: <T>(fn: (reader: Reader) => Promise<T>) => database.read({ tenant_id: ORG, principal_id: 'usr_a' }, fn),
    }) as unknown as ReadCtx;
  return {
    ...{ database, owner, files, verify, asAttacker, context },
    seal: () => sealAudit({ database, heads }),
    archive: (rows_max = 4) => archiveAudit({ database, files, online_days: ONLINE_DAYS, rows_max }),
    write: async (count: number, days: number) => {
      for (let n = 0; n < count; n++)
        await database.write(PLATFORM, (tx) =>
          insertAuditLog(tx, anAuditRow({ organization_id: ORG, metadata: { n, days } })),
        );
      // Before they are sealed: the time of a row is part of its hash.
      await asAttacker(
        `update audit_logs set created_at = now() - interval '${days} days' where metadata ->> 'days' = '${days}'`,
      );
    },
    /** As if the segments had been recorded some days ago. */
    age: () => asAttacker("update audit_segments set created_at = now() - interval '2 days'"),
    online: async () =>
      (
        await owner.query<{ rows: string; seals: string }>(
          `select (select count(*) from audit_logs where organization_id = '${ORG}') as rows,
             (select count(*) from audit_seals where chain = '${ORG}') as seals`,
        )
      ).rows.map(({ rows, seals }) => [Number(rows), Number(seals)])[0],
    findings: async () =>
      (await verify()).chains.flatMap(({ findings }) => findings.map(({ kind, sequence }) => `${kind} ${sequence}`)),
    names: () => readdirSync(join(audit_archive_dir, ORG)).toSorted(),
    path: (name: string) => join(audit_archive_dir, ORG, name),
  };
};

/** Two segments of four rows each left the database; one old row and three young ones are there. */
const archived = async (t: TestContext) => {
  const b = await bench(t);
  await b.write(9, 410);
  await b.write(3, 1);
  await b.seal();
  await b.archive();
  await b.archive();
  await b.age();
  await b.archive();
  await b.archive();
  assert.deepEqual(await b.online(), [4, 4]);
  await b.seal();
  return b;
};

test('old rows go to segments of one chain, a day after these were recorded, and the chain verifies as a whole', async (t) => {
  const b = await bench(t);
  await b.write(9, 410);
  await b.write(3, 1);
  await b.seal();
  await b.archive();
  await b.archive();
  assert.deepEqual(b.names(), ['000000000000001-000000000000004.jsonl', '000000000000005-000000000000008.jsonl']);
  await b.archive();
  assert.equal(b.names().length, 2, 'the ninth row waits for a full segment or the end of its month');
  assert.deepEqual(await b.online(), [12, 12], 'segments of today remove nothing');
  await b.age();
  await b.archive();
  await b.archive();
  assert.deepEqual(await b.online(), [4, 4]);
  await b.seal();
  const report = await b.verify();
  assert.equal(report.intact, true, JSON.stringify(report.chains));
  const chain = report.chains.find((one) => one.chain === ORG);
  assert.deepEqual([chain?.rows_sealed, chain?.rows_unsealed], [12, 0]);
  // The records of the segments are rows of the chain of the platform.
  assert.equal(report.chains.find((one) => one.chain === 'platform')?.rows_sealed, 2);
});

test('a chain with few rows is archived when a month is over, and may leave the database as a whole', async (t) => {
  const b = await bench(t);
  await b.write(3, 440);
  await b.seal();
  await b.archive(100);
  assert.deepEqual(b.names(), ['000000000000001-000000000000003.jsonl']);
  await b.age();
  await b.archive(100);
  assert.deepEqual(await b.online(), [0, 0]);
  assert.deepEqual(await b.findings(), []);
  await b.write(1, 1);
  await b.seal();
  assert.deepEqual(await b.findings(), []);
});

test('a segment that was edited, cut, exchanged or removed is found, and so is an archive that cannot be read', async (t) => {
  const b = await archived(t);
  const [one = '', two = ''] = b.names().map(b.path);
  const [first, second] = [readFileSync(one, 'utf8'), readFileSync(two, 'utf8')];
  writeFileSync(one, first.replace('"actor_kind":"user"', '"actor_kind":"system"'));
  assert.deepEqual(await b.findings(), ['edited 1', 'edited 1']);
  writeFileSync(one, `${first.split('\n').slice(0, -3).join('\n')}\n`);
  assert.deepEqual(await b.findings(), ['reordered 1']);
  writeFileSync(one, 'not a segment\n');
  assert.deepEqual(await b.findings(), ['edited 1']);
  writeFileSync(one, second);
  writeFileSync(two, first);
  assert.deepEqual(await b.findings(), ['reordered 1', 'reordered 5']);
  writeFileSync(two, second);
  rmSync(one);
  assert.deepEqual(await b.findings(), ['deleted 1']);
  writeFileSync(one, first);
  assert.deepEqual(await b.findings(), []);
  assert.equal((await b.verify(null)).intact, false);
  // A signature of another key, with every hash right, is not the file that was recorded.
  const seed = randomBytes(32);
  const other = createSegmentFiles({ directory: join(one, '..', '..'), seeds: () => [seed] });
  await other.write(`${ORG}/forged.jsonl`, first.trimEnd().split('\n').slice(0, -1));
  renameSync(b.path('forged.jsonl'), one);
  assert.deepEqual(await b.findings(), ['edited 1']);
});

test('a record of a segment that was removed or changed is found', async (t) => {
  const b = await archived(t);
  await b.asAttacker("update audit_segments set file_sha256 = sha256('x') where first_sequence = 1");
  assert.deepEqual(await b.findings(), ['edited 1']);
  await b.asAttacker('delete from audit_segments where first_sequence = 1');
  assert.deepEqual(await b.findings(), ['deleted 1']);
  await b.asAttacker('delete from audit_segments');
  assert.deepEqual(await b.findings(), ['deleted 1']);
});

test('rows that a segment does not hold cannot be deleted, by whomever', async (t) => {
  const b = await bench(t);
  await b.write(5, 410);
  await b.write(1, 1);
  await b.seal();
  await b.archive();
  for (const sql of [
    'delete from audit_logs',
    'delete from audit_seals where sequence > 4',
    'truncate audit_logs',
    'delete from audit_segments',
  ])
    await assert.rejects(b.owner.query(sql), /is append-only/, sql);
  await assert.rejects(
    b.owner.query('update audit_segments set last_sequence = 6, removed_at = now()'),
    /only ever changes/,
  );
  const remove = (sequence: number, days = ONLINE_DAYS) =>
    b.database.write(PLATFORM, (tx) => tx.query('select remove_archived_audit($1, $2, $3)', [ORG, sequence, days]));
  const refused = async (work: Promise<unknown>, reason: RegExp) =>
    assert.rejects(work, (err: Error) => reason.test(`${err.message} ${String(err.cause)}`));
  await refused(remove(1), /is too young/);
  await b.age();
  await refused(remove(1, 29), /30 days at least/);
  await refused(remove(1, 500), /is too young/);
  await refused(remove(5), /has no segment at 5/);
  await b.asAttacker(
    `delete from audit_logs where id = (select audit_log_id from audit_seals where chain = '${ORG}' and sequence = 2)`,
  );
  await refused(remove(1), /does not match its rows/);
});

test('an archive that hangs ends no turn late and is not called again; it continues when it responds', async (t) => {
  const b = await bench(t);
  await b.write(4, 410);
  await b.seal();
  const hung = Promise.withResolvers<void>();
  let writes = 0;
  const files: typeof b.files = {
    ...b.files,
    write: async (...args) => {
      writes += 1;
      await hung.promise;
      return b.files.write(...args);
    },
  };
  const archive = () =>
    archiveAudit({ database: b.database, files, online_days: ONLINE_DAYS, rows_max: 4, files_wait_ms: 1 });
  for (let turn = 0; turn < 3; turn++) await assert.rejects(archive(), /archive directory has not responded/);
  assert.equal(writes, 1, 'a write that hangs is not started again');
  assert.equal(await b.archive().then(() => b.owner.query('select from audit_segments').then((r) => r.rowCount)), 0);
  hung.resolve();
  await until('the segment of the first turn', async () => {
    await archive().catch(() => {});
    return (await b.owner.query('select from audit_segments')).rowCount === 1;
  });
  assert.deepEqual(b.names(), ['000000000000001-000000000000004.jsonl']);
  assert.equal(writes, 1);
  await b.seal();
  assert.deepEqual(await b.findings(), []);
});

test('an API that was taken over cannot make recent rows leave the database', async (t) => {
  const b = await bench(t);
  await b.write(3, 1);
  await b.seal();
  const attack = (columns: string, values: string) =>
    b.database.write(PLATFORM, (tx) =>
      tx.query(
        `insert into audit_segments (chain, first_sequence, last_sequence, previous_hash, last_hash, file_name, file_sha256${columns})
         select s.chain, 1, 3, sha256(convert_to('gpuaas audit chain ' || s.chain, 'UTF8')), s.hash, 'no-file', sha256('x')${values}
         from audit_seals s where s.chain = '${ORG}' and s.sequence = 3`,
      ),
    );
  const denied = (work: Promise<unknown>, reason: RegExp) =>
    assert.rejects(work, (err: Error) => reason.test(`${err.message} ${String(err.cause)}`));
  for (const [columns, values] of [
    [', created_at', ", now() - interval '2 days'"],
    [', first_row_at, last_row_at', ", now() - interval '500 days', now() - interval '500 days'"],
    [', removed_at', ', now()'],
  ] as const)
    await denied(attack(columns, values), /permission denied for table audit_segments/);
  await attack('', '');
  const { rows } = await b.owner.query(
    `select e.created_at > now() - interval '1 hour' as is_new, e.last_row_at = max(l.created_at) as is_last, e.first_row_at = min(l.created_at) as is_first
     from audit_segments e, audit_logs l where l.organization_id = '${ORG}' group by e.created_at, e.first_row_at, e.last_row_at`,
  );
  assert.deepEqual(rows, [{ is_new: true, is_last: true, is_first: true }]);
  await b.age();
  await denied(
    b.database.write(PLATFORM, (tx) => tx.query('select remove_archived_audit($1, 1, 30)', [ORG])),
    /is too young/,
  );
  assert.deepEqual(await b.online(), [3, 3]);
});

test('a segment must follow its chain', async (t) => {
  const b = await bench(t);
  await b.write(5, 410);
  await b.seal();
  await b.archive();
  const insert = (first: number, last: number, hash: string) =>
    b.owner.query(
      `insert into audit_segments (chain, first_sequence, last_sequence, previous_hash, last_hash, file_name, file_sha256)
       select '${ORG}', $1, $2, e.last_hash, coalesce((select hash from audit_seals where chain = '${ORG}' and sequence = $2), sha256('x')),
         'f', sha256($3::bytea) from audit_segments e`,
      [first, last, hash],
    );
  await assert.rejects(insert(6, 6, 'x'), /does not follow its chain/);
  await assert.rejects(insert(4, 5, 'x'), /does not follow its chain/);
  await assert.rejects(insert(5, 9, 'x'), /does not follow its chain/);
  await insert(5, 5, 'x');
});

test('a chain that does not verify is not archived, and a file that is not as written removes nothing', async (t) => {
  const b = await bench(t);
  await b.write(8, 410);
  await b.seal();
  await b.archive();
  const [name = ''] = b.names();
  await b.asAttacker(
    `update audit_logs set policy = 'q' where id = (select audit_log_id from audit_seals where chain = '${ORG}' and sequence = 6)`,
  );
  await assert.rejects(b.archive(), /does not verify at 6; nothing of it is archived/);
  await b.age();
  writeFileSync(b.path(name), `${readFileSync(b.path(name), 'utf8')} `);
  await assert.rejects(b.archive(), AggregateError);
  assert.deepEqual(await b.online(), [8, 8]);
});

test('lists say until when rows are archived, and an export includes them once', async (t) => {
  const b = await archived(t);
  const params = { organization_id: ORG };
  const nothing = { body: {}, if_match: undefined, last_event_id: undefined };
  const page = await auditLogList(b.context('auditLogList'), { ...nothing, params, query: {} });
  assert.equal(page.items.length, 4);
  assert.ok(page.archived_until !== null && Date.parse(page.archived_until) < Date.now() - 409 * 86_400_000);
  const exported = async (query: Record<string, string> = {}) => {
    const rows: { id: string; n: unknown }[] = [];
    for await (const { id, metadata } of await auditLogExport(b.context('auditLogExport'), {
      ...nothing,
      params,
      query,
    }))
      rows.push({ id, n: (metadata as Readonly<Record<string, unknown>>)['n'] });
    return rows;
  };
  const all = await exported();
  const numbers = all.map(({ n }) => Number(n));
  // Archived rows in the order of their chain; those of one millisecond have ids in any order.
  assert.deepEqual(
    [...numbers.slice(0, 8), ...numbers.slice(8).toSorted((a, b) => a - b)],
    [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 8],
  );
  assert.equal(new Set(all.map(({ id }) => id)).size, 12);
  assert.equal((await exported({ since: new Date(Date.now() - 86_400_000 * 30).toISOString() })).length, 3);
  assert.equal((await exported({ until: new Date(Date.now() - 86_400_000 * 30).toISOString() })).length, 9);
  assert.equal((await exported({ action: 'no.such' })).length, 0);
  rmSync(b.path(b.names()[0] ?? ''));
  await assert.rejects(exported(), /Archived audit rows cannot be read/);
});
