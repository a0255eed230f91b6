import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { startTestApp, testClock } from '../../test/app.ts';
import { CACHE_OVER_MS } from '../../test/tenants.ts';

it('after too many guesses an address is refused without a lookup, and signed-in users there continue', async (t) => {
  const clock = testClock();
  const test = await startTestApp({ after: (fn) => t.after(fn) }, { anonymous_rate_limit_per_minute: 3 }, { clock });
  const ada = await test.user('ada');
  const guess = () => test.bearer(`gpuaas_pat_${randomUUID()}`).get('/api/v1/me');
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push((await guess()).status);
  assert.deepEqual(statuses, [401, 401, 401, 429]);
  const refused = await guess();
  assert.equal(refused.body.code, 'rate_limited');
  assert.ok(Number(refused.headers['retry-after']) > 0);

  // The right credential is refused like a guess: the limit comes before the lookup that would distinguish them.
  const fresh = await test.issuer.sign({ sub: 'bob', name: 'bob', email: 'bob@example.com', email_verified: true });
  assert.equal((await test.bearer(fresh).get('/api/v1/me')).status, 429);

  clock.advance(CACHE_OVER_MS);
  assert.equal((await ada.get('/api/v1/me')).status, 200);
});
