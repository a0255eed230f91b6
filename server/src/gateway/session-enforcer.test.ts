import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ABANDONED_AFTER_S, type GatewaySessions, type SessionEnd } from '../sessions/gateway-session.ts';
import type { Registry } from './registry.ts';
import type { Session } from './session.ts';
import { createSessionEnforcer } from './session-enforcer.ts';

const never = () => new Promise<never>(() => undefined);
const unused = () => assert.fail('not asked');

it('a replica without database responses closes its sessions after the time that the others wait', async () => {
  const ended: SessionEnd[] = [];
  const look = { id: 'ses_1', idle_ms: 0, waiting_ms: null, connecting_ms: null };
  const registry: Registry = {
    ...{ size: () => 1, find: () => undefined, add: unused, abandon: unused, catchUp: unused, settled: unused },
    all: () => [{ activity: () => look } as Session],
    endAll: (end) => void ended.push(end),
  };
  let nowMs = 0;
  const sessions = { judge: never } as unknown as GatewaySessions;
  const enforcer = createSessionEnforcer({ registry, sessions, nowMs: () => nowMs, answer_ms: 1 });
  nowMs = ABANDONED_AFTER_S * 1000 - 1;
  await assert.rejects(enforcer.run(), /unreachable/);
  assert.equal(ended.length, 0);
  nowMs += 1;
  await assert.rejects(enforcer.run(), /unreachable/);
  assert.equal(ended[0]?.reason, 'gateway_stopped');
});
