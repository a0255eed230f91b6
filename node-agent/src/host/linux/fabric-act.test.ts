import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { fabricHost, makeFabricHost, VERSION } from '../../../test/fabric-manager.ts';
import { hostContract } from '../host.contract.ts';

hostContract(fabricHost);

const open = async (t: TestContext) => {
  const made = await makeFabricHost();
  t.after(made.close);
  return made;
};

describe('a fabric partition', () => {
  test('is activated once, and not again if it is already active', async (t) => {
    const { host, acts } = await open(t);
    for (let times = 0; times < 2; times++) await host.fabric.activate(4);
    for (let times = 0; times < 2; times++) await host.fabric.deactivate(4);
    assert.deepEqual(await acts(), ['-a 4', '-d 4']);
  });

  test('that shares a module with an active one is refused before the tool is called, naming both', async (t) => {
    const { host, acts } = await open(t);
    await host.fabric.activate(1);
    await assert.rejects(host.fabric.activate(4), {
      code: 'conflict',
      message: 'Partition 4 (modules 2, 4) shares a module with partition 1 (modules 1, 2, 3, 4), which is active.',
    });
    await assert.rejects(host.fabric.declare([4]), { code: 'conflict' });
    assert.deepEqual(await acts(), ['-a 1']);
  });

  test('counts as active when the list shows it, whatever the tool returned', async (t) => {
    const { host, put } = await open(t);
    await put('broken', '');
    await assert.rejects(host.fabric.activate(4), {
      code: 'host_error',
      message: /fmpm -a 4 ended with status 240 and partition 4 is not active: Partition activation failed/,
    });
  });

  test('is declared after a restart of Fabric Manager together with those it already knows', async (t) => {
    const { host, acts, restart } = await open(t);
    await host.fabric.activate(7);
    await restart();
    await host.fabric.activate(2);
    await host.fabric.declare([7]);
    await host.fabric.declare([7]);
    assert.deepEqual(await acts(), ['-a 7', '-a 2', '--set-activated-list 2,7']);
    const { partitions } = await host.fabric.facts();
    assert.deepEqual(
      partitions.filter((one) => one.is_active).map((one) => one.partition_id),
      [2, 7],
    );
  });

  test('is activated after a restarted Fabric Manager received an empty activated list', async (t) => {
    const { host, acts, put } = await open(t);
    await put('waiting', '');
    await assert.rejects(host.fabric.activate(4), { code: 'host_error', message: /not configured/ });
    await host.fabric.declare([]);
    await host.fabric.activate(4);
    await host.fabric.declare([]);
    assert.deepEqual(
      await acts(),
      ['-a 4', '--set-activated-list ', '-a 4'],
      'one that knows of a partition is not asked',
    );
    await put('broken', '');
    await host.fabric.declare([]);
    await host.fabric.declare([4]);
  });

  test('is not declared to a Fabric Manager without restart mode', async (t) => {
    const { host, acts, put } = await open(t);
    await put('usr/share/nvidia/nvswitch/fabricmanager.cfg', 'FABRIC_MODE=1\nFABRIC_MODE_RESTART=0\n');
    assert.equal((await host.fabric.facts()).manager.is_restart_mode, false);
    for (const ids of [[], [7]])
      await assert.rejects(host.fabric.declare(ids), { code: 'blocked', message: /FABRIC_MODE_RESTART=1/ });
    assert.deepEqual(await acts(), []);
  });

  test('is not activated by a Fabric Manager of another version, one that is off, or not in shared mode', async (t) => {
    const { host, acts, put } = await open(t);
    await host.fabric.activate(7);
    await put('sys/module/nvidia/version', '575.57.08\n');
    await assert.rejects(host.fabric.activate(8), {
      code: 'drift',
      message: `Fabric Manager is ${VERSION} and the driver 575.57.08; install the same version of both.`,
    });
    await host.fabric.deactivate(7);
    await put('usr/share/nvidia/nvswitch/fabricmanager.cfg', 'FABRIC_MODE=0\n');
    await assert.rejects(host.fabric.activate(8), { code: 'blocked', message: /bare_metal mode/ });
    await put('state', 'inactive\n');
    await assert.rejects(host.fabric.activate(8), { code: 'host_error', message: /not running/ });
    assert.deepEqual(await acts(), ['-a 7', '-d 7']);
  });
});
