/** Accounts on a host that is given away whole. The keys are the full set: what is not in it is gone afterwards. */
import { exclusive } from './exclusive.ts';
import type { TaskHandler } from './task.ts';

const key = (username: string): readonly string[] => [`user ${username}`];

export const provisionUser: TaskHandler<'allocation.provision_user'> = (ctx, params) =>
  exclusive(ctx, key(params.username), async (act) => {
    const { username, ssh_public_keys } = params;
    await act(`account ${username}`, ctx.host.system.ensureUser({ username, ssh_public_keys }));
    return { username, ssh_host_key: await act('the SSH host key', ctx.host.system.sshHostKey()) };
  });

export const installAuthorizedKeys: TaskHandler<'allocation.install_authorized_keys'> = (ctx, params) =>
  exclusive(ctx, key(params.username), async (act) => {
    const { username, ssh_public_keys } = params;
    await act(`keys of ${username}`, ctx.host.system.ensureUser({ username, ssh_public_keys }));
    return { key_count: ssh_public_keys.length };
  });

export const deprovisionUser: TaskHandler<'allocation.deprovision_user'> = (ctx, params) =>
  exclusive(ctx, key(params.username), (act) =>
    act(`removing ${params.username}`, ctx.host.system.removeUser(params.username)),
  );
