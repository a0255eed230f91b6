import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { createSecrets } from './secrets.ts';

const keys = new Map([
  [1, randomBytes(32)],
  [300, randomBytes(32)],
]);
const kind = 'platform';

it('a sealed value opens only in its bound place, with the version that it names', () => {
  let active = 1;
  const secrets = createSecrets({ kind, keys, active: () => active });
  const old = secrets.seal('text', 'here');
  active = 300;
  const fresh = secrets.seal(Buffer.from([0, 255]), 'here');
  assert.deepEqual([old.readUInt16BE(0), fresh.readUInt16BE(0)], [1, 300]);
  assert.equal(secrets.open(old, 'here'), 'text');
  assert.deepEqual(secrets.openBytes(fresh, 'here'), Buffer.from([0, 255]));
  assert.throws(() => secrets.open(old, 'there'));
  const moved = Buffer.from(old);
  moved.writeUInt16BE(300, 0);
  assert.throws(() => secrets.open(moved, 'here'));
});

it('a process without the version reports it', () => {
  const [, newer] = [...keys.values()];
  const only = createSecrets({ kind, keys: new Map([[300, newer ?? Buffer.alloc(0)]]), active: () => 300 });
  const old = createSecrets({ kind, keys, active: () => 1 }).seal('text', 'here');
  assert.throws(() => only.open(old, 'here'), /does not hold version 1 of the platform key/);
});

it('derived keys survive a rotation, except those requested by version', () => {
  let active = 1;
  const root = randomBytes(32);
  const secrets = createSecrets({ kind, keys, active: () => active, root });
  const [before, byVersion] = [secrets.derive('x', 32), secrets.deriveByVersion('x', 32)];
  active = 300;
  assert.deepEqual(secrets.derive('x', 32), before);
  assert.deepEqual(secrets.deriveByVersion('x', 32), byVersion.toReversed());
  assert.throws(() => createSecrets({ kind: 'trust', keys, active: () => 1 }).derive('x', 32), /nothing is derived/);
});
