/**
 * Who may log in: accounts on bare metal, and the keys of a running VM. The task carries the full set: keys of an
 * earlier set that are not in it are removed.
 */
import { dropKeys, setKeys } from '../authorized-keys.ts';
import { HostError } from '../host/host.ts';
import { changeLeases, findLease, noteGenerations, readLeases, refuseStale } from '../leases.ts';
import { diskTargets } from '../stale.ts';
import { domainName } from './names.ts';
import type { TaskContext, TaskHandler } from './task.ts';
import { type Act, withLocks } from './task-locks.ts';

const key = (username: string): readonly string[] => [`user ${username}`];

export const provisionUser: TaskHandler<'allocation.provision_user'> = (ctx, params) =>
  withLocks(ctx, key(params.username), async (act) => {
    const { allocation_id, username, ssh_public_keys: keys } = params;
    // From now on the slots and disks are of this claim: a wipe for an earlier one is refused.
    const targets = [...params.slot_generations, ...diskTargets(params.disks)];
    await changeLeases(ctx.state, (book) => {
      refuseStale(book, targets);
      return noteGenerations(book, targets);
    });
    await act(`account ${username}`, setKeys(ctx, { allocation_id, username, keys }, ctx.signal));
    return { username, ssh_host_key: await act('the SSH host key', ctx.host.system.sshHostKey()) };
  });

/** The VM of a slice that can take keys now: it is held for the allocation, ours and running. */
const refuseNotRunning = async (ctx: TaskContext, act: Act, allocationId: string): Promise<void> => {
  const lease = findLease(await readLeases(ctx.state), allocationId);
  if (lease === undefined || lease.cleaning_since !== null)
    throw new HostError('conflict', `allocation ${allocationId} holds no slots here`);
  const name = domainName(allocationId);
  const domains = await act('listing the domains', ctx.host.hypervisor.list());
  const domain = domains.find((one) => one.name === name && one.allocation_id === allocationId);
  if (domain?.state !== 'running')
    throw new HostError('blocked', `${name} is not running, so its SSH keys cannot change`);
};

export const installAuthorizedKeys: TaskHandler<'allocation.install_authorized_keys'> = (ctx, params) => {
  const { allocation_id, username, ssh_public_keys: keys } = params;
  return withLocks(ctx, username === null ? [`keys ${allocation_id}`] : key(username), async (act) => {
    if (username === null) await refuseNotRunning(ctx, act, allocation_id);
    const whose = username ?? `the VM of ${allocation_id}`;
    await act(`keys of ${whose}`, setKeys(ctx, { allocation_id, username, keys }, ctx.signal));
    return { key_count: keys.length };
  });
};

export const deprovisionUser: TaskHandler<'allocation.deprovision_user'> = (ctx, params) =>
  withLocks(ctx, key(params.username), (act) =>
    act(
      `removing ${params.username}`,
      // The keys first: a session that ends meanwhile would install them again and recreate the account.
      dropKeys(ctx.state, params.allocation_id, () => ctx.host.system.removeUser(params.username)),
    ),
  );
