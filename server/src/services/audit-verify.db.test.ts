import '../../test/own-cluster.ts';
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { type TestDatabase, testDatabase } from '../../test/database.ts';
import { anAuditRow } from '../../test/rows.ts';
import { insertAuditLog } from '../db/audit.ts';
import { PLATFORM } from '../db/client.ts';
import { createHeadsFile, type HeadsFile } from '../ports/objects/heads-file.ts';
import { sealAudit } from '../reconcilers/seal-audit.ts';
import { verifyAudit } from './audit-verify.ts';

type Bench = Readonly<{
  db: TestDatabase;
  file: string;
  heads: HeadsFile;
  write(organization_id: string | null, count?: number): Promise<void>;
  seal(): Promise<void>;
  verify(only?: string): ReturnType<typeof verifyAudit>;
  /** Runs SQL as the owner of the tables with their triggers off, as an attacker would. */
  tamper(sql: string): Promise<void>;
  /** The findings per chain, as `kind sequence`. */
  findings(only?: string): Promise<Record<string, string[]>>;
}>;

const ORG = 'org_a';

const bench = async (t: TestContext): Promise<Bench> => {
  const db = await testDatabase(t);
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-heads-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'sub', 'heads.jsonl');
  const seed = randomBytes(32);
  const heads = createHeadsFile({ file, seeds: () => [seed] });
  const verify = (only?: string) => verifyAudit({ database: db.database, heads, archive: null, only: only ?? null });
  return {
    db,
    file,
    heads,
    verify,
    seal: () => sealAudit({ database: db.database, heads }),
    write: async (organization_id, count = 1) => {
      for (let i = 0; i < count; i++)
        await db.database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ organization_id, metadata: { i } })));
    },
    tamper: async (sql) => {
      const client = new Client({ connectionString: db.ownerUrl });
      await client.connect();
      await client.query('set session_replication_role = replica');
      await client.query(sql);
      await client.end();
    },
    findings: async (only) => {
      const { chains } = await verify(only);
      return Object.fromEntries(
        chains
          .filter((chain) => chain.findings.length > 0)
          .map((chain) => [chain.chain, chain.findings.map((f) => `${f.kind} ${f.sequence}`)]),
      );
    },
  };
};

/** Ten rows of one tenant and three of the control plane, sealed in two turns. */
const sealed = async (t: TestContext): Promise<Bench> => {
  const b = await bench(t);
  await b.write(ORG, 6);
  await b.write(null, 3);
  await b.seal();
  await b.write(ORG, 4);
  await b.seal();
  assert.equal((await b.verify()).intact, true);
  return b;
};

const rowAt = (sequence: number) =>
  `(select audit_log_id from audit_seals where chain = '${ORG}' and sequence = ${sequence})`;

describe('audit verify', () => {
  test('an untouched log is intact, chained per tenant, and its unsealed tail is reported', async (t) => {
    const b = await sealed(t);
    await b.write(ORG, 2);
    const report = await b.verify();
    assert.equal(report.intact, true);
    assert.equal(report.heads_file_lines, 3);
    const [tenant, platform] = report.chains;
    assert.deepEqual([tenant?.chain, tenant?.rows_sealed, tenant?.rows_unsealed], [ORG, 10, 2]);
    assert.equal(tenant?.unsealed_ids.length, 2);
    assert.match(tenant?.head_hash ?? '', /^[0-9a-f]{64}$/);
    assert.deepEqual([platform?.chain, platform?.rows_sealed, platform?.rows_unsealed], ['platform', 3, 0]);
    assert.deepEqual(
      (await b.verify(ORG)).chains.map((chain) => chain.chain),
      [ORG],
    );
  });

  test('an empty log is intact', async (t) => {
    const b = await bench(t);
    await b.seal();
    assert.deepEqual(await b.verify(), { intact: true, heads_file_lines: 0, chains: [] });
  });

  const columns: readonly (readonly [string, string])[] = [
    ['actor_id', "'usr_other'"],
    ['result', "'denied'"],
    ['error_code', "''"],
    ['metadata', `'{"i": 4.0}'`],
    ['created_at', "created_at + interval '1 microsecond'"],
    ['project_id', "'prj_other'"],
    ['correlation_id', "correlation_id || ' '"],
  ];
  test('an edit of any kind of column is found at its row', async (t) => {
    const b = await sealed(t);
    for (const [column, value] of columns) {
      await b.tamper(`create table backup as select * from audit_logs where id = ${rowAt(5)};
        update audit_logs set ${column} = ${value} where id = ${rowAt(5)}`);
      assert.deepEqual(await b.findings(), { [ORG]: ['edited 5'] }, column);
      await b.tamper(
        `delete from audit_logs where id = ${rowAt(5)}; insert into audit_logs select * from backup; drop table backup`,
      );
    }
    assert.deepEqual(await b.findings(), {});
  });

  test('a row moved to another tenant is found', async (t) => {
    const b = await sealed(t);
    await b.tamper(`update audit_logs set organization_id = 'org_b' where id = ${rowAt(3)}`);
    assert.deepEqual(await b.findings(), { [ORG]: ['edited 3'] });
  });

  test('a deleted row is found, with or without its seal', async (t) => {
    const b = await sealed(t);
    await b.tamper(`delete from audit_logs where id = ${rowAt(4)}`);
    assert.deepEqual(await b.findings(), { [ORG]: ['deleted 4'] });
    await b.tamper(`delete from audit_seals where chain = '${ORG}' and sequence = 4`);
    assert.deepEqual(await b.findings(), { [ORG]: ['deleted 4'] });
  });

  test('a chain renumbered over a deleted row is found', async (t) => {
    const b = await sealed(t);
    await b.tamper(`delete from audit_logs where id = ${rowAt(4)};
      delete from audit_seals where chain = '${ORG}' and sequence = 4;
      update audit_seals set sequence = sequence - 1 where chain = '${ORG}' and sequence > 4;
      update audit_chains set sequence = 9, headed_sequence = 9 where chain = '${ORG}'`);
    assert.deepEqual((await b.findings())[ORG]?.includes('truncated 10'), true);
    assert.deepEqual((await b.findings())[ORG]?.includes('edited 4'), true);
  });

  test('two swapped rows are found', async (t) => {
    const b = await sealed(t);
    await b.tamper(`alter table audit_seals drop constraint audit_seals_audit_log_id_key;
      update audit_seals s set audit_log_id = o.audit_log_id from audit_seals o
      where s.chain = '${ORG}' and o.chain = s.chain and (s.sequence, o.sequence) in ((3, 4), (4, 3))`);
    assert.deepEqual(await b.findings(), { [ORG]: ['reordered 3', 'reordered 4'] });
  });

  test('two swapped seals are found', async (t) => {
    const b = await sealed(t);
    await b.tamper(`update audit_seals s set hash = o.hash from audit_seals o
      where s.chain = '${ORG}' and o.chain = s.chain and (s.sequence, o.sequence) in ((3, 4), (4, 3))`);
    assert.equal((await b.findings())[ORG]?.[0], 'reordered 3');
  });

  test('a row inserted among sealed ones is found', async (t) => {
    const b = await sealed(t);
    await b.tamper(`insert into audit_logs select 'aud_00000000000000000000000000', xid, created_at, organization_id,
      project_id, actor_kind, actor_id, actor_role, source_ip, user_agent, action, target_kind, target_id, result,
      error_code, policy, correlation_id, metadata from audit_logs where id = ${rowAt(2)}`);
    assert.deepEqual(await b.findings(), { [ORG]: ['reordered null'] });
    await b.seal();
    assert.deepEqual(await b.findings(), { [ORG]: ['reordered null'] });
  });

  const cutTail = `delete from audit_logs where id in (select audit_log_id from audit_seals where chain = '${ORG}' and sequence > 7);
    delete from audit_seals where chain = '${ORG}' and sequence > 7;`;
  test('a tail deleted together with its seals and records is found by the signed heads', async (t) => {
    const b = await sealed(t);
    await b.tamper(`${cutTail} update audit_chains c set sequence = 7, headed_sequence = 7, hash = s.hash
      from audit_seals s where s.chain = c.chain and s.sequence = 7 and c.chain = '${ORG}'`);
    assert.deepEqual(await b.findings(), { [ORG]: ['truncated 8'] });
    assert.deepEqual(await b.findings(ORG), { [ORG]: ['truncated 8'] });
    // Growing past the cut does not hide it: the heads record another chain.
    await b.write(ORG, 5);
    await b.seal();
    assert.deepEqual(await b.findings(), { [ORG]: ['edited 10'] });
  });

  test('a deleted tail is found without the heads file too, and the missing file is reported', async (t) => {
    const b = await sealed(t);
    await b.tamper(cutTail);
    rmSync(b.file);
    assert.deepEqual(await b.findings(), { [ORG]: ['truncated 8'], platform: ['heads_missing null'] });
  });

  test('a chain deleted without a trace in the database is found', async (t) => {
    const b = await sealed(t);
    await b.tamper(`delete from audit_logs where organization_id = '${ORG}'; delete from audit_seals where chain = '${ORG}';
      delete from audit_chains where chain = '${ORG}'`);
    assert.deepEqual(await b.findings(), { [ORG]: ['truncated 1'] });
    // Nor does a new chain under the old name hide it.
    await b.write(ORG, 1);
    await b.seal();
    assert.deepEqual((await b.findings())[ORG]?.toSorted(), ['truncated 2', 'truncated 2']);
  });

  test('a whole emptied log is found', async (t) => {
    const b = await sealed(t);
    await b.tamper('truncate audit_logs, audit_seals, audit_chains');
    assert.deepEqual(await b.findings(), { [ORG]: ['truncated 1'], platform: ['truncated 1'] });
  });

  test('a chain rewritten with valid seals is found by the signed heads', async (t) => {
    const b = await sealed(t);
    // The attacker lets our own sealer create new seals over edited rows, and corrects every record in the database.
    await b.tamper(`update audit_logs set actor_id = 'usr_other' where id = ${rowAt(2)};
      truncate audit_seals, audit_chains; update audit_sealer set sealed_xid = '0', sealed_id = ''`);
    await sealAudit({ database: b.db.database, heads: { ...b.heads, append: async (_, end) => end } });
    assert.deepEqual(await b.findings(), { [ORG]: ['edited 6'] });
  });

  test('a forged, edited or missing line of the heads file is found, as distinct findings', async (t) => {
    const b = await sealed(t);
    const whole = readFileSync(b.file, 'utf8');
    const [first = '', second = '', third = ''] = whole.trimEnd().split('\n');
    const put = (...lines: string[]) => writeFileSync(b.file, lines.map((line) => `${line}\n`).join(''));

    put(first, second.replace('"sequence":3', '"sequence":2'), third);
    assert.deepEqual(await b.findings(), { platform: ['head_forged 2'] });
    put(
      first,
      second,
      third.replace(/"hash":"(.)/, (_, digit) => `"hash":"${digit === '0' ? '1' : '0'}`),
    );
    assert.deepEqual(await b.findings(), { [ORG]: ['head_forged 10'] });
    put(first, 'not a head', third);
    assert.deepEqual(await b.findings(), { platform: ['head_forged null'] });
    put(first, third);
    assert.deepEqual(await b.findings(), { platform: ['heads_missing null'] });
    put(first, second);
    assert.deepEqual(await b.findings(), { platform: ['heads_missing null'] });
    assert.deepEqual(await b.findings(ORG), { [ORG]: ['heads_missing null'] });
    put(first, third, second);
    assert.notDeepEqual(await b.findings(), {});
    put('');
    assert.notDeepEqual(await b.findings(), {});
    writeFileSync(b.file, whole);
    assert.deepEqual(await b.findings(), {});
    // Lines signed with another key are not heads.
    const seed = randomBytes(32);
    const other = createHeadsFile({ file: b.file, seeds: () => [seed] });
    await other.append([{ chain: ORG, sequence: 11, hash: 'ab'.repeat(32), sealed_at: '' }], {
      line: 3,
      hash: '00'.repeat(32),
    });
    assert.deepEqual(await b.findings(), { [ORG]: ['head_forged 11'] });
  });

  test('a truncated heads file stays suspicious after the sealer continues', async (t) => {
    const b = await sealed(t);
    writeFileSync(b.file, `${readFileSync(b.file, 'utf8').split('\n')[0]}\n`);
    await b.write(ORG, 1);
    await b.seal();
    assert.deepEqual(await b.findings(), { platform: ['heads_missing null'] });
  });

  test('a line half-written by a crash is not a finding and is removed by the next append', async (t) => {
    const b = await sealed(t);
    appendFileSync(b.file, '{"line":4,"chain":"org_a","seq');
    assert.deepEqual(await b.findings(), {});
    await b.write(ORG, 1);
    await b.seal();
    assert.deepEqual(await b.findings(), {});
    assert.equal((await b.verify()).heads_file_lines, 4);
  });

  test('heads that a crash kept from being written or recorded are written by the next turn', async (t) => {
    const b = await sealed(t);
    const dying = { ...b.heads, append: () => Promise.reject(new Error('killed')) };
    await b.write(ORG, 1);
    await assert.rejects(sealAudit({ database: b.db.database, heads: dying }), /killed/);
    assert.equal((await b.verify()).intact, true);
    await b.seal();
    assert.equal((await b.verify()).heads_file_lines, 4);

    const dyingLate: HeadsFile = {
      ...b.heads,
      append: async (...args) => {
        await b.heads.append(...args);
        throw new Error('killed late');
      },
    };
    await b.write(ORG, 1);
    await assert.rejects(sealAudit({ database: b.db.database, heads: dyingLate }), /killed late/);
    assert.equal((await b.verify()).intact, true);
    await b.seal();
    const report = await b.verify();
    assert.deepEqual([report.intact, report.heads_file_lines], [true, 6]);
  });
});
