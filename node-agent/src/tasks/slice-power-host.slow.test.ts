/**
 * Stop, start, reboot and reinstall by the agent's own tasks on a real host. The tenant checks from inside the VM: the
 * same address, the same host key and the same files, until a reinstallation replaces the system on the boot disk and
 * keeps the data disk.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { composedHostLacks, TINY_IMAGE } from '../../test/composed-host.ts';
import { makeSliceLab } from '../../test/slice-lab.ts';
import { findLease, readLeases } from '../leases.ts';

const SLOW_MS = 480_000;
const SMALL = { vcpu_count: 1, memory_mib: 512 };
/** The tenant of the tiny guest is an unprivileged user with a writable file and disk. */
const USER_DATA = '#cloud-config\nruncmd:\n  - touch /state/note\n  - chmod 666 /state/note /dev/vdb\n';

const setUp = async (t: TestContext) => {
  const lab = await makeSliceLab({});
  t.after(lab.close);
  const { run, held, tenant } = lab;
  const image = { name: TINY_IMAGE, digest: null };
  const start = async (install: number) => {
    await run('slice.vm_start', { ...lab.start, user_data: USER_DATA, install });
    return ready();
  };
  const ready = async () => {
    const seen = await run('slice.vm_readiness', held);
    return { ip: seen.actual_ip ?? '', host_key: seen.ssh_host_key ?? '' };
  };
  const power = async () => {
    const [domain] = await lab.host.reopen().hypervisor.list();
    return [domain?.state, findLease(await readLeases(lab.state), held.allocation_id)?.wanted];
  };
  return { ...lab, image, start, ready, power, say: tenant.run };
};

type At = Readonly<{ ip: string; host_key: string }>;

test('a slice keeps address, host key and files through stop, start and reboot, and its data disk through a reinstallation', {
  skip: composedHostLacks(),
  timeout: SLOW_MS,
}, async (t) => {
  const { run, held, lease, image, start, ready, power, say } = await setUp(t);
  const bootId = (at: At) => say(at, 'cat /proc/sys/kernel/random/boot_id');
  const stop = (grace_s: number) => run('slice.vm_stop', { ...held, grace_s, will_start_again: true });

  await run('slice.bundle_lease', { ...lease, ...SMALL });
  await run('slice.image_clone', { ...held, image });
  const first = await start(0);
  await say(first, 'echo mine >/state/note; echo kept >/dev/vdb; sync');
  const booted = await bootId(first);
  assert.deepEqual(await power(), ['running', 'on']);

  assert.deepEqual(await stop(60), { how: 'graceful' });
  assert.deepEqual(await power(), ['shut_off', 'off']);
  await assert.rejects(say(first, 'true'), 'nothing responds at the address of a VM that is off');
  assert.deepEqual(await start(0), first);
  assert.equal(await say(first, 'cat /state/note'), 'mine\n');
  const restarted = await bootId(first);
  assert.notEqual(restarted, booted);

  assert.deepEqual(await run('slice.vm_reboot', { ...held, is_hard: false }), { how: 'graceful' });
  assert.deepEqual(await ready(), first);
  assert.notEqual(await bootId(first), restarted);

  const again = { ...held, image, install: 1 };
  await assert.rejects(run('slice.image_clone', again), { code: 'blocked' });
  assert.deepEqual(await stop(0), { how: 'hard' });
  await run('slice.image_clone', again);
  const second = await start(1);
  assert.equal(second.ip, first.ip);
  assert.notEqual(second.host_key, first.host_key);
  assert.equal(
    await say(second, 'cat /state/note; head -c 5 /dev/vdb'),
    'kept\n',
    'an empty note, and the data disk as it was',
  );
  assert.match(await say(second, 'cat /mnt/seed/meta-data'), new RegExp(`instance-id.*${held.allocation_id}-1"`));

  await run('slice.vm_stop', { ...held, grace_s: 0 });
  const cleaned = await run('slice.cleanup', held);
  assert.deepEqual(cleaned.blocked, []);
  assert.ok(cleaned.disks.every((disk) => disk.is_verified));
});
