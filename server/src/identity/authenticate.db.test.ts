import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog, systemClock } from '@gpuaas/kit';
import { startTestApp } from '../../test/app.ts';
import { must } from '../../test/tenants.ts';
import type { Database } from '../db/client.ts';
import { createAuthenticator } from './authenticate.ts';

test('requests that arrive together with one credential cause one lookup, and each of them is refused with it', async (t) => {
  const app = await startTestApp(t, { roles: ['gpuaas-api'] });
  const owner = await app.user('owner');
  const body = { name: 'a token', scopes: ['read'], expires_in_s: 3600 };
  const made = must(await owner.post('/api/v1/tokens', body), 201).body;
  let reads = 0;
  const read: Database['read'] = (scope, fn) => {
    reads += 1;
    return app.db.database.read(scope, fn);
  };
  const authenticate = createAuthenticator({
    database: { ...app.db.database, read },
    verifier: { verify: () => assert.fail('not a JWT') } as never,
    clock: systemClock,
    log: silentLog(),
    superadmin_emails: [],
    web_session_idle_s: 60,
  });
  const request = { correlation_id: 'c', source_ip: '127.0.0.1', user_agent: 'test' };
  let looks = 0;
  const ask = (token: string, fresh?: true) =>
    authenticate({ authorization: `Bearer ${token}` }, request, {
      beforeLookUp: () => void looks++,
      ...(fresh ? { fresh } : {}),
    });
  const together = await Promise.all(Array.from({ length: 20 }, () => ask(made.token)));
  assert.deepEqual(new Set(together.map(({ id }) => id)), new Set([owner.me.id]));
  assert.deepEqual([reads, looks], [1, 1]);
  await ask(made.token);
  assert.equal(reads, 1);
  await Promise.all([ask(made.token, true), ask(made.token, true)]);
  assert.equal(reads, 3);
  const wrong = `${made.token.slice(0, -4)}0000`;
  const refused = await Promise.allSettled(Array.from({ length: 5 }, () => ask(wrong)));
  assert.ok(refused.every(({ status }) => status === 'rejected'));
  assert.equal(reads, 4);
  // The failed lookup is not kept.
  await assert.rejects(ask(wrong), /unknown, expired or revoked/);
  assert.equal(reads, 5);
});
