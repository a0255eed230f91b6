import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeFabricHost } from '../../test/fabric-manager.ts';
import { OTHER, provision, startTestHost } from '../../test/slice.ts';
import { joinPartition } from './partition.ts';
import { withLocks } from './task-locks.ts';

test('a partition refused by a restarted Fabric Manager is activated after declaring those in use', async (t) => {
  const [host, manager] = [startTestHost(t), await makeFabricHost()];
  t.after(manager.close);
  const ctx = host.ctx({ host: { ...host.sim, fabric: manager.host.fabric } });
  const join = (id: number) => withLocks(ctx, [], (act) => joinPartition(ctx, act, id));
  await manager.put('waiting', '');
  await join(8);
  assert.deepEqual(await manager.acts(), ['-a 8', '--set-activated-list ', '-a 8'], 'no VM runs, and that is reported');

  await provision(host, await host.slots([4]), OTHER);
  const [inUse] = host.sim.state().active_partitions;
  await manager.restart();
  await manager.put('waiting', '');
  await join(7);
  assert.deepEqual((await manager.acts()).slice(3), ['-a 7', `--set-activated-list ${inUse}`, '-a 7']);

  await manager.put('broken', '');
  await assert.rejects(join(9), { code: 'host_error', message: /fmpm -a 9 ended with status 240/ });
});
