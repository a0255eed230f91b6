import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../../test/database.ts';
import { testSecrets } from '../../../test/secrets.ts';
import { PLATFORM } from '../../db/client.ts';
import { createAdapterFactory } from './adapter.ts';

const secrets = testSecrets();

test('of several requests that use one code or refresh token at the same time, one wins', async (t) => {
  const { database } = await testDatabase(t);
  const adapter = createAdapterFactory({ database, secrets })('RefreshToken');
  await adapter.upsert('id-1', { jti: 'id-1' }, 60);
  const results = await Promise.allSettled(Array.from({ length: 6 }, () => adapter.consume('id-1')));
  assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
  await adapter.upsert('id-1', { jti: 'id-1', changed: true }, 60);
  const found = await adapter.find('id-1');
  assert.equal(found?.['changed'], true);
  assert.equal(typeof found?.['consumed'], 'number', 'a later write does not make it fresh again');
  await adapter.destroy('id-1');
  assert.equal(await adapter.find('id-1'), undefined);
});

test('revoking a grant ends everything issued under it and nothing else', async (t) => {
  const { database } = await testDatabase(t);
  const adapter = createAdapterFactory({ database, secrets });
  await adapter('RefreshToken').upsert('a', { jti: 'a', grantId: 'g1' }, 60);
  await adapter('DeviceCode').upsert('b', { jti: 'b', grantId: 'g1', userCode: 'ABCDEFGH' }, 60);
  await adapter('RefreshToken').upsert('c', { jti: 'c', grantId: 'g2' }, 60);
  await adapter('Interaction').upsert('d', { jti: 'd', grantId: 'g1' }, 60);
  assert.equal((await adapter('DeviceCode').findByUserCode('ABCDEFGH'))?.['jti'], 'b');
  await adapter('RefreshToken').revokeByGrantId('g1');
  assert.equal(await adapter('RefreshToken').find('a'), undefined);
  assert.equal(await adapter('DeviceCode').findByUserCode('ABCDEFGH'), undefined);
  assert.equal((await adapter('RefreshToken').find('c'))?.['jti'], 'c');
  assert.equal((await adapter('Interaction').find('d'))?.['jti'], 'd');
});

test('a session is found by its uid, even while two tabs renew it at once', async (t) => {
  const { database } = await testDatabase(t);
  const adapter = createAdapterFactory({ database, secrets })('Session');
  await Promise.all([
    adapter.upsert('one', { jti: 'one', uid: 'u' }, 60),
    adapter.upsert('two', { jti: 'two', uid: 'u' }, 90),
  ]);
  assert.equal((await adapter.findByUid('u'))?.['jti'], 'two');
  await adapter.destroy('two');
  assert.equal((await adapter.findByUid('u'))?.['jti'], 'one');
});

test('expired records are deleted', async (t) => {
  const { database } = await testDatabase(t);
  const adapter = createAdapterFactory({ database, secrets })('Interaction');
  await adapter.upsert('old', { jti: 'old' }, -3600);
  for (let i = 0; i < 200; i++) await adapter.upsert(`new-${i % 3}`, { jti: `${i}` }, 60);
  const { rows } = await database.read(PLATFORM, (reader) =>
    reader.query<{ n: number }>('select count(*) as n from oidc_records'),
  );
  assert.equal(rows[0]?.n, 3);
});
