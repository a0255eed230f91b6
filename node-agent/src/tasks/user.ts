/** Accounts on a host that is given away whole. The keys are the full set: what is not in it is gone afterwards. */
import { HostError } from '../host/host.ts';
import { findLease, readLeases } from '../leases.ts';
import { type Act, exclusive } from './exclusive.ts';
import { domainName } from './names.ts';
import type { TaskContext, TaskHandler } from './task.ts';

const key = (username: string): readonly string[] => [`user ${username}`];

export const provisionUser: TaskHandler<'allocation.provision_user'> = (ctx, params) =>
  exclusive(ctx, key(params.username), async (act) => {
    const { username, ssh_public_keys } = params;
    await act(`account ${username}`, ctx.host.system.ensureUser({ username, ssh_public_keys }));
    return { username, ssh_host_key: await act('the SSH host key', ctx.host.system.sshHostKey()) };
  });

/** The machine of a slice that can take keys now: it is held for the allocation, ours and running. */
const runningMachine = async (ctx: TaskContext, act: Act, allocationId: string): Promise<string> => {
  const lease = findLease(await readLeases(ctx.state), allocationId);
  if (lease === undefined || lease.cleaning_since !== null)
    throw new HostError('conflict', `allocation ${allocationId} holds no slots here`);
  const name = domainName(allocationId);
  const domains = await act('listing the domains', ctx.host.hypervisor.list());
  const domain = domains.find((one) => one.name === name && one.allocation_id === allocationId);
  if (domain?.state !== 'running') throw new HostError('blocked', `${name} does not run; it takes no keys`);
  return name;
};

export const installAuthorizedKeys: TaskHandler<'allocation.install_authorized_keys'> = (ctx, params) => {
  const { allocation_id, username, ssh_public_keys } = params;
  const key_count = ssh_public_keys.length;
  if (username !== null)
    return exclusive(ctx, key(username), async (act) => {
      await act(`keys of ${username}`, ctx.host.system.ensureUser({ username, ssh_public_keys }));
      return { key_count };
    });
  return exclusive(ctx, [`keys ${allocation_id}`], async (act) => {
    const { access } = ctx.host;
    if (access === undefined) throw new HostError('unsupported', 'Guests of this host take no keys while they run.');
    const name = await runningMachine(ctx, act, allocation_id);
    await act(`the keys of ${name}`, access.setGuestKeys(name, ssh_public_keys, ctx.signal));
    return { key_count };
  });
};

export const deprovisionUser: TaskHandler<'allocation.deprovision_user'> = (ctx, params) =>
  exclusive(ctx, key(params.username), (act) =>
    act(`removing ${params.username}`, ctx.host.system.removeUser(params.username)),
  );
