import '../../test/own-cluster.ts';
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog, systemClock } from '@gpuaas/kit';
import { testDatabase } from '../../test/database.ts';
import { anAuditRow } from '../../test/rows.ts';
import { testSecrets } from '../../test/secrets.ts';
import type { ReadCtx } from '../context.ts';
import { type AuditRow, insertAuditLog } from '../db/audit.ts';
import { type Database, PLATFORM, type Reader, type Scope } from '../db/client.ts';
import { createHeadsFile } from '../ports/objects/heads-file.ts';
import { sealAudit } from '../reconcilers/seal-audit.ts';
import { adminAuditLogList, adminAuditLogVerify, auditLogExport, auditLogList } from './audit-log.ts';

const bench = async (t: TestContext) => {
  const { database } = await testDatabase(t);
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-heads-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const audit_heads_file = join(dir, 'heads.jsonl');
  const secrets = testSecrets();
  const heads = createHeadsFile({ file: audit_heads_file, seeds: () => secrets.deriveByVersion('audit-heads', 32) });
  const context = (operation: string, scope: Scope): ReadCtx =>
    ({
      deps: {
        database,
        config: { audit_heads_file, audit_archive_dir: null },
        secrets,
        clock: systemClock,
        log: silentLog(),
      },
      operation,
      principal: null,
      organization_id: scope.tenant_id === '*' ? null : scope.tenant_id,
      project_id: null,
      read: <T>(fn: (reader: Reader) => Promise<T>) => database.read(scope, fn),
    }) as unknown as ReadCtx;
  return { database, seal: () => sealAudit({ database, heads }), context };
};

const tenant = (id: string): Scope => ({ tenant_id: id, principal_id: 'usr_a' });
const write = (database: Database, row: Partial<AuditRow> = {}) =>
  database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow(row)));

const request = <Q>(query: Q, organization_id = 'org_a') =>
  ({ params: { organization_id }, query, body: {}, if_match: undefined, last_event_id: undefined }) as const;
const adminRequest = <Q>(query: Q) =>
  ({ params: {}, query, body: {}, if_match: undefined, last_event_id: undefined }) as const;

test('an organization lists its own rows newest first, page by page, and sees which are sealed', async (t) => {
  const { database, seal, context } = await bench(t);
  for (let i = 0; i < 4; i++) await write(database, { target_id: `t${i}` });
  await seal();
  await write(database, { target_id: 't4' });
  await write(database, { target_id: 'foreign', organization_id: 'org_b' });
  await write(database, { target_id: 'platform', organization_id: null });
  const ctx = context('auditLogList', tenant('org_a'));
  const seen: (readonly [string | null, boolean])[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await auditLogList(ctx, request({ limit: 2, ...(cursor ? { cursor } : {}) }));
    seen.push(...page.items.map((item) => [item.target_id, item.sealed] as const));
    cursor = page.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(seen.map(([target]) => target ?? '').toSorted(), ['t0', 't1', 't2', 't3', 't4']);
  assert.deepEqual(
    seen.filter(([, sealed]) => !sealed).map(([target]) => target),
    ['t4'],
  );
  const stolen = await auditLogList(ctx, request({}, 'org_b'));
  assert.deepEqual(stolen.items, [], 'row-level security stands behind the query');
});

test('each filter limits the list to its rows', async (t) => {
  const { database, context } = await bench(t);
  await write(database);
  const wanted = {
    action: 'token.create',
    actor_id: 'usr_b',
    target_id: 'tok_b',
    project_id: 'prj_b',
    result: 'denied',
    correlation_id: 'cor_b',
  } as const;
  await write(database, wanted);
  const ctx = context('auditLogList', tenant('org_a'));
  for (const [name, value] of Object.entries(wanted)) {
    const { items } = await auditLogList(ctx, request({ [name]: value }));
    assert.deepEqual(
      items.map((item) => item.target_id),
      ['tok_b'],
      name,
    );
  }
  const all = await auditLogList(
    ctx,
    request({ ...wanted, since: '2020-01-01T00:00:00Z', until: '2999-01-01T00:00:00Z' }),
  );
  assert.equal(all.items.length, 1);
  assert.equal((await auditLogList(ctx, request({ until: '2020-01-01T00:00:00Z' }))).items.length, 0);
  assert.equal((await auditLogList(ctx, request({ since: '0000-01-01T00:00:00Z' }))).items.length, 2);
  await assert.rejects(auditLogList(ctx, request({ since: '2016-12-31T23:59:60Z' })), { code: 'invalid_request' });
});

test('an export gives every row once, oldest first, and nothing committed after it began', async (t) => {
  const { database, context } = await bench(t);
  await database.write(PLATFORM, async (tx) => {
    for (let i = 0; i < 1_100; i++) tx.defer(insertAuditLog(tx, anAuditRow({ target_id: `t${i}` })));
  });
  const rows = await auditLogExport(context('auditLogExport', tenant('org_a')), request({}));
  await write(database, { target_id: 'later' });
  const ids: string[] = [];
  const targets = new Set<string | null>();
  for await (const row of rows) {
    ids.push(row.id);
    targets.add(row.target_id);
  }
  assert.deepEqual([ids.length, targets.size, targets.has('later')], [1_100, 1_100, false]);
  assert.deepEqual(ids, ids.toSorted());
});

test('operators list every chain and verify all or one', async (t) => {
  const { database, seal, context } = await bench(t);
  await write(database, { organization_id: 'org_a' });
  await write(database, { organization_id: 'org_b' });
  await write(database, { organization_id: null });
  await seal();
  const list = await adminAuditLogList(context('adminAuditLogList', PLATFORM), adminRequest({}));
  assert.equal(list.items.length, 3);
  const one = await adminAuditLogList(
    context('adminAuditLogList', PLATFORM),
    adminRequest({ organization_id: 'org_b' }),
  );
  assert.deepEqual(
    one.items.map((item) => item.organization_id),
    ['org_b'],
  );
  const ctx = context('adminAuditLogVerify', PLATFORM);
  const report = await adminAuditLogVerify(ctx, adminRequest({}));
  assert.deepEqual(
    [report.intact, report.heads_file_lines, report.chains.map((chain) => chain.chain)],
    [true, 3, ['org_a', 'org_b', 'platform']],
  );
  const single = await adminAuditLogVerify(ctx, adminRequest({ organization_id: 'org_b' }));
  assert.deepEqual(
    single.chains.map((chain) => [chain.chain, chain.rows_sealed]),
    [['org_b', 1]],
  );
});
