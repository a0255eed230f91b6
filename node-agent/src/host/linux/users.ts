/**
 * Tenant accounts on bare metal. An account is managed if its comment says so; any other of the same name is not
 * changed. Keys are written by a process that runs as the account itself, so that nothing in the home directory can
 * redirect the write.
 */
import { HostError, type User } from '../host.ts';
import { outputOf, type Run } from './run.ts';

const COMMENT = 'gpuaas tenant';
const NOT_FOUND = 2;
const USERNAME = /^[a-z][a-z0-9-]{0,30}$/;

type Account = Readonly<{ uid: number; gid: number; comment: string; home: string }>;

const find = async (run: Run, username: string): Promise<Account | null> => {
  if (!USERNAME.test(username)) throw new HostError('blocked', 'The username is not allowed.');
  const command = { argv: ['getent', 'passwd', username], recorded: 'getent-passwd.txt' } as const;
  const { status, stdout } = await run(command);
  if (status === NOT_FOUND) return null;
  if (status !== 0) throw new HostError('host_error', `getent failed with status ${status}.`);
  const [, , uid, gid, comment = '', home] = stdout.trim().split(':');
  if (uid === undefined || gid === undefined || home === undefined)
    throw new HostError('host_error', 'getent printed no account.');
  return { uid: Number(uid), gid: Number(gid), comment, home };
};

const getManaged = async (run: Run, username: string): Promise<Account | null> => {
  const account = await find(run, username);
  if (account !== null && account.comment !== COMMENT)
    throw new HostError('conflict', `User ${username} exists and is not managed by GPUaaS.`);
  return account;
};

export const hasUser = async (run: Run, username: string): Promise<boolean> =>
  (await getManaged(run, username)) !== null;

export const ensureUser = async (run: Run, { username, ssh_public_keys }: User): Promise<void> => {
  let found = await getManaged(run, username);
  if (found === null) {
    await outputOf(run, {
      argv: ['useradd', '--create-home', '--shell', '/bin/bash', '--comment', COMMENT, username],
      recorded: 'useradd.txt',
    });
    found = await getManaged(run, username);
  }
  const account = found;
  if (account === null) throw new HostError('host_error', `User ${username} was created but is missing.`);
  if (ssh_public_keys.some((key) => /[\r\n]/.test(key))) throw new HostError('blocked', 'A public key is one line.');
  const folder = `${account.home}/.ssh`;
  const asTenant = (recorded: string, argv: readonly [string, ...string[]], input = ''): Promise<string> =>
    outputOf(run, { argv, recorded, input, uid: account.uid, gid: account.gid });
  await asTenant('mkdir.txt', ['mkdir', '-p', '-m', '700', folder]);
  // The whole set replaces the old one atomically.
  const keys = ssh_public_keys.map((key) => `${key}\n`).join('');
  await asTenant('tee.txt', ['tee', `${folder}/authorized_keys.new`], keys);
  await asTenant('chmod.txt', ['chmod', '600', `${folder}/authorized_keys.new`]);
  await asTenant('mv.txt', ['mv', '-fT', `${folder}/authorized_keys.new`, `${folder}/authorized_keys`]);
};

/** Sessions as logind lists them; a host without it has none to end. */
const countSessions = async (run: Run, username: string): Promise<number> => {
  try {
    const { stdout } = await run({ argv: ['loginctl', 'list-sessions', '--no-legend'], recorded: 'loginctl.txt' });
    return stdout.split('\n').filter((line) => line.trim().split(/\s+/)[2] === username).length;
  } catch (error) {
    if (error instanceof HostError && error.code === 'unsupported') return 0;
    throw error;
  }
};

const NO_PROCESS = 1;

export const removeUser = async (
  run: Run,
  username: string,
): Promise<Readonly<{ sessions_ended: number; was_present: boolean }>> => {
  if ((await getManaged(run, username)) === null) return { sessions_ended: 0, was_present: false };
  // Expired first: no new logins while current sessions are ended.
  await outputOf(run, { argv: ['usermod', '--lock', '--expiredate', '1', username], recorded: 'usermod.txt' });
  const sessions_ended = await countSessions(run, username);
  if (sessions_ended > 0)
    await outputOf(run, { argv: ['loginctl', 'terminate-user', username], recorded: 'loginctl-terminate.txt' });
  const killed = await run({ argv: ['pkill', '-KILL', '-u', username], recorded: 'pkill.txt' });
  if (killed.status > NO_PROCESS) throw new HostError('host_error', `pkill failed with status ${killed.status}.`);
  await outputOf(run, { argv: ['userdel', '--remove', username], recorded: 'userdel.txt' });
  return { sessions_ended, was_present: true };
};
