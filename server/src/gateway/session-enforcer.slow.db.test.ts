/** The same as in `session-enforcer.test.ts`, on real connections and in real time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testClock } from '../../test/app.ts';
import { joinedGateway } from '../../test/gateway.ts';

test('a replica that cannot check permissions closes its sessions after 15 seconds', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  const clock = testClock();
  const at = await joinedGateway({ after: (fn) => void closers.unshift(fn) }, {}, { clock });
  const stage = await at.stage();
  const open = await stage.session();
  // It ends when its last connection is released; until then it opens none.
  const ended = at.test.app.deps.database.end();
  t.after(() => ended);
  clock.advance(14_000);
  open.client.socket.send(Buffer.from('still'));
  await open.host.received(5);
  clock.advance(1_000);
  assert.equal(await open.client.closed(), 4008);
  assert.equal(open.client.words.at(-1).reason, 'gateway_stopped');
});
