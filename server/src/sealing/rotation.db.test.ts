import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { Client } from 'pg';
import { startTestApp, type TestApp, testClock } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { until } from '../../test/until.ts';
import { ensureTrustKeys, readTrust } from '../agents/trust.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { countSealed, lockSealedRows, putSealed, SEALED_COLUMNS } from '../db/statements/reseal.ts';
import { findUserData } from '../db/user-data.ts';
import { SEALED_TO } from '../domain/sealed.ts';
import type { KeyRing } from '../ports/secrets/secrets.ts';
import { openKeyRings } from './key-ring.ts';
import { reseal } from './reseal.ts';

const [ONE, TWO] = [randomBytes(32), randomBytes(32)];
const OLD: KeyRing = new Map([[1, ONE]]);
const BOTH: KeyRing = new Map([
  [1, ONE],
  [2, TWO],
]);
const NEW: KeyRing = new Map([[2, TWO]]);

const sql = (database: Database, text: string, values: readonly unknown[] = []) =>
  database.write(PLATFORM, async (tx) => (await tx.query<Record<string, unknown>>(text, values)).rows);

const open = (database: Database, platform_keys: KeyRing, trust_keys: KeyRing | null = null) =>
  openKeyRings({ database, service: 'test', platform_keys, trust_keys });

const rotateBySql = (database: Database, kind: string) =>
  sql(
    database,
    `update platform_keys set state = case version when 1 then 'retiring' else 'active' end,
       state_since = clock_timestamp() - interval '2 minutes' where kind = $1 and version in (1, 2)`,
    [kind],
  );

const versionsOf = async (database: Database) =>
  Object.fromEntries(
    (await database.read(PLATFORM, (reader) => countSealed(reader))).map((one) => [
      `${one.kind}/${one.version}`,
      one.count,
    ]),
  );

const fill = (database: Database, count: number, seal: (id: string) => Buffer) =>
  database.write(PLATFORM, async (tx) => {
    for (let n = 0; n < count; n++) {
      const name = `test ${n}`;
      await tx.query('insert into platform_secrets (name, sealed_secret) values ($1, $2)', [name, seal(name)]);
    }
  });

describe('the keys of a process', () => {
  it('must be those that the database knows, with every version that seals or still opens values', async (t) => {
    const { database } = await testDatabase(t);
    const { secrets } = await open(database, OLD);
    const derived = secrets.derive('x', 32);
    await assert.rejects(open(database, new Map([[1, TWO]])), /Version 1 of GPUAAS_PLATFORM_KEY is another key/);
    await assert.rejects(open(database, NEW), /lacks version 1, which is active/);
    await open(database, BOTH);
    await rotateBySql(database, 'platform');
    await assert.rejects(open(database, OLD), /lacks version 2, which is active/);
    await assert.rejects(open(database, NEW), /lacks version 1, which is retiring/);
    await sql(database, "update platform_keys set state = 'retired' where version = 1");
    await assert.rejects(open(database, NEW), /derivation root in this database were sealed with another platform key/);
    assert.deepEqual((await open(database, BOTH)).secrets.derive('x', 32), derived);
  });

  it('seal nothing when the active version could not be read for a while', async (t) => {
    const { database } = await testDatabase(t);
    let ms = 0;
    const rings = await openKeyRings({
      ...{ database, service: 'test', platform_keys: OLD, trust_keys: null },
      monotonicMs: () => ms,
    });
    ms = 31_000;
    assert.throws(() => rings.secrets.seal('text', 'here'), /was not read for 30 s/);
    await rings.follow();
    assert.equal(rings.secrets.open(rings.secrets.seal('text', 'here'), 'here'), 'text');
  });
});

describe('a rotation', () => {
  it('knows every sealed column of the schema', async (t) => {
    const { database } = await testDatabase(t);
    const columns = await sql(
      database,
      `select distinct table_name as t, column_name as c from information_schema.columns
       where table_schema = 'public' and data_type = 'bytea' and column_name ~ 'seal' order by 1, 2`,
    );
    const known = new Set(SEALED_COLUMNS.map((one) => `${one.table}.${one.column}`));
    for (const { t: table, c } of columns) assert.ok(known.has(`${table}.${c}`), `${table}.${c} is re-sealed`);
  });

  it('seals every value again, in batches, wherever it was interrupted', async (t) => {
    const { database } = await testDatabase(t);
    const rings = await open(database, BOTH, BOTH);
    const { secrets, trustSecrets } = rings;
    assert.ok(trustSecrets);
    const clock = testClock();
    await database.write(PLATFORM, (tx) => ensureTrustKeys(tx, { secrets, clock }));
    await database.write(PLATFORM, (tx) => ensureTrustKeys(tx, { secrets: trustSecrets, clock }));
    await fill(database, 10, (name) => secrets.seal(`secret of ${name}`, SEALED_TO.platform_secret(name)));
    const before = await versionsOf(database);
    assert.deepEqual(before, { 'platform/1': 12, 'trust/1': 2 });

    await rotateBySql(database, 'platform');
    await rotateBySql(database, 'trust');
    await rings.follow();
    // A crash between two batches: one batch is committed, the next is not.
    const column = SEALED_COLUMNS.find((one) => one.table === 'platform_secrets');
    assert.ok(column);
    await assert.rejects(
      database.write(PLATFORM, async (tx) => {
        const rows = await lockSealedRows(tx, column, { active: 2, after: null, limit: 3, is_plain: false });
        for (const { key, bound_to, sealed } of rows)
          await putSealed(tx, column, { key, sealed: secrets.seal(secrets.openBytes(sealed, bound_to), bound_to) });
        throw new Error('crash');
      }),
      /crash/,
    );
    assert.deepEqual(await versionsOf(database), before);
    const stop = new AbortController();
    stop.abort();
    assert.equal(await reseal({ database, secrets }, stop.signal, 3), 0);

    assert.equal(await reseal({ database, secrets }, undefined, 3), 12);
    assert.equal(await reseal({ database, secrets: trustSecrets }, undefined, 1), 2);
    assert.deepEqual(await versionsOf(database), { 'platform/2': 12, 'trust/2': 2 });
    assert.equal(await reseal({ database, secrets }), 0, 'again is once');
    const keys = await sql(database, 'select kind, version, state from platform_keys order by kind, version');
    assert.deepEqual(
      keys.map((key) => `${key['kind']}/${key['version']} ${key['state']}`),
      ['platform/1 retired', 'platform/2 active', 'trust/1 retired', 'trust/2 active'],
    );
    // Without the old keys everything opens.
    await rings.leave();
    const later = await open(database, NEW, NEW);
    assert.ok(later.trustSecrets);
    assert.deepEqual(later.secrets.derive('x', 32), secrets.derive('x', 32));
    const log = { error: () => assert.fail('a key does not open') } as never;
    const ring = later.trustSecrets;
    assert.ok((await database.read(PLATFORM, (reader) => readTrust(reader, ring, log))).ca.issuer);
    const [row] = await sql(database, "select sealed_secret as s from platform_secrets where name = 'test 7'");
    assert.equal(later.secrets.open(row?.['s'] as Buffer, SEALED_TO.platform_secret('test 7')), 'secret of test 7');
  });

  it('leaves a value that does not open, names it, and seals every other again', async (t) => {
    const { database } = await testDatabase(t);
    const { secrets, follow } = await open(database, BOTH);
    await fill(database, 5, (name) => secrets.seal('text', SEALED_TO.platform_secret(name === 'test 1' ? 'x' : name)));
    await rotateBySql(database, 'platform');
    await follow();
    for (const turn of [1, 2])
      await assert.rejects(
        reseal({ database, secrets }, undefined, 2),
        /do not open \(1\): platform_secrets test 1$/,
        `${turn}`,
      );
    assert.deepEqual(await versionsOf(database), { 'platform/1': 1, 'platform/2': 5 });
    const restored = secrets.seal('text', SEALED_TO.platform_secret('test 1'));
    await sql(database, "update platform_secrets set sealed_secret = $1 where name = 'test 1'", [restored]);
    await reseal({ database, secrets });
    const [old] = await sql(database, 'select state from platform_keys where version = 1');
    assert.equal(old?.['state'], 'retired');
  });

  it('keeps the old version while a running process still seals with it', async (t) => {
    const { database } = await testDatabase(t);
    const [behind, ahead] = [await open(database, BOTH), await open(database, BOTH)];
    await rotateBySql(database, 'platform');
    await ahead.follow();
    const stateOfOld = async () =>
      (await sql(database, 'select state from platform_keys where version = 1'))[0]?.['state'];
    await reseal({ database, secrets: ahead.secrets });
    assert.equal(await stateOfOld(), 'retiring');
    await fill(database, 2, (name) => behind.secrets.seal('late', SEALED_TO.platform_secret(name)));
    await behind.follow();
    await reseal({ database, secrets: ahead.secrets });
    assert.equal(await stateOfOld(), 'retired');
    assert.equal((await versionsOf(database))['platform/1'], undefined, 'what it sealed late was sealed again');
  });
});

const stateOf = async (admin: Awaited<ReturnType<TestApp['admin']>>, version: number) => {
  const { items } = (await admin.get('/api/v1/admin/platform-keys?kind=platform')).body;
  return items.find((one: { version: number }) => one.version === version);
};

it('an operator rotates the platform key of a running control plane without an outage', async (t) => {
  const db = await testDatabase(t);
  const body = { kind: 'platform', reason: 'yearly' };
  const path = '/api/v1/admin/platform-keys/rotate';
  const test = await startTestApp(t, { platform_keys: BOTH }, { db });
  const admin = await test.admin();
  await startTestApp(t, { platform_keys: OLD, roles: ['gpuaas-outbox-relay'] }, { db });
  const refused = await admin.post(path, body);
  assert.equal(refused.status, 409);
  assert.match(refused.body.detail, /Version 2 is missing in running processes: gpuaas-outbox-relay/);
  await sql(db.database, 'delete from platform_key_holders where service = $1', ['gpuaas-outbox-relay']);
  // A response with a secret, sealed before the rotation, is replayed after it.
  const key = { 'idempotency-key': randomUUID() };
  const create = () => admin.post('/api/v1/tokens', { name: 'before', scopes: ['read'], expires_in_s: 3600 }, key);
  const made = await create();
  assert.equal(made.status, 201, JSON.stringify(made.body));

  assert.equal((await admin.post(path, body)).status, 202);
  const again = await admin.post(path, body);
  assert.deepEqual([again.status, /still being sealed again/.test(again.body.detail)], [409, true]);
  await until('every value has the new version', async () => (await stateOf(admin, 1)).sealed_values === 0);
  assert.equal((await stateOf(admin, 1)).state, 'retiring', 'transactions of before may still end');
  assert.deepEqual((await create()).body, made.body);
  await sql(db.database, "update platform_keys set state_since = state_since - interval '2 minutes' where version = 1");
  await until('the old version is retired', async () => (await stateOf(admin, 1)).state === 'retired');
  const none = await admin.post(path, body);
  assert.deepEqual(
    [none.status, /No process holds a newer platform key. Add version 3/.test(none.body.detail)],
    [409, true],
  );
  await until('the audit log is intact', async () => {
    const { intact } = (await admin.get('/api/v1/admin/audit-logs/verify')).body;
    return intact;
  });
});

it('plain text stored by an earlier build is sealed, and opens in its column', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  const { secrets } = await open(database, OLD);
  const client = new Client({ connectionString: ownerUrl });
  await client.connect();
  const plain = Buffer.concat([Buffer.from([0, 0]), Buffer.from('#!/bin/sh\n')]);
  const { id, organization_id, project_id } = await anAllocation(client, {
    node: await aNode(client),
    state: 'active',
  });
  await client.query(
    'insert into allocation_user_data (allocation_id, organization_id, project_id, sealed_user_data) values ($1, $2, $3, $4)',
    [id, organization_id, project_id, plain],
  );
  await client.end();
  assert.throws(() => secrets.open(plain, SEALED_TO.user_data(id)), /does not hold version 0/);
  assert.equal(await reseal({ database, secrets }), 1);
  const sealed = await database.read(PLATFORM, (reader) => findUserData(reader, id));
  assert.equal(secrets.open(sealed ?? Buffer.alloc(0), SEALED_TO.user_data(id)), '#!/bin/sh\n');
  assert.equal(await reseal({ database, secrets }), 0);
});
