import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command, Run } from './run.ts';
import { ensureUser, removeUser } from './users.ts';

/** A password file of one host, and a record of the commands. */
const accounts = (known: Record<string, string>, sessions = '') => {
  const ran: Command[] = [];
  const run: Run = async (command) => {
    const [program, ...words] = command.argv;
    const name = words.at(-1) ?? '';
    ran.push(command);
    if (program === 'getent') {
      const line = known[name];
      return { status: line === undefined ? 2 : 0, stdout: line ?? '', stderr: '' };
    }
    if (program === 'useradd')
      known[name] = `${name}:x:1001:1001:${words[words.indexOf('--comment') + 1]}:/home/${name}:/bin/bash`;
    if (program === 'userdel') delete known[name];
    if (program === 'loginctl' && words[0] === 'list-sessions') return { status: 0, stdout: sessions, stderr: '' };
    return { status: program === 'pkill' ? 1 : 0, stdout: '', stderr: '' };
  };
  const calls = () => ran.filter(({ argv }) => argv[0] !== 'getent').map(({ argv }) => argv.join(' '));
  return { run, ran, calls };
};

test('an account is created once, and its keys are written as that account and replaced at once', async () => {
  const { run, ran, calls } = accounts({});
  await ensureUser(run, { username: 'tenant-a', ssh_public_keys: ['ssh-ed25519 AAAA one', 'ssh-ed25519 BBBB two'] });
  await ensureUser(run, { username: 'tenant-a', ssh_public_keys: [] });
  const keys = [
    'mkdir -p -m 700 /home/tenant-a/.ssh',
    'tee /home/tenant-a/.ssh/authorized_keys.new',
    'chmod 600 /home/tenant-a/.ssh/authorized_keys.new',
    'mv -fT /home/tenant-a/.ssh/authorized_keys.new /home/tenant-a/.ssh/authorized_keys',
  ];
  assert.deepEqual(calls(), [
    'useradd --create-home --shell /bin/bash --comment gpuaas tenant tenant-a',
    ...keys,
    ...keys,
  ]);
  const writes = ran.filter(({ argv }) => argv[0] === 'tee');
  assert.deepEqual(
    writes.map(({ input, uid, gid }) => [input, uid, gid]),
    [
      ['ssh-ed25519 AAAA one\nssh-ed25519 BBBB two\n', 1001, 1001],
      ['', 1001, 1001],
    ],
  );
});

test('an account that the agent did not create is neither used nor removed', async () => {
  const { run, calls } = accounts({ root: 'root:x:0:0:root:/root:/bin/bash' });
  await assert.rejects(ensureUser(run, { username: 'root', ssh_public_keys: [] }), { code: 'conflict' });
  await assert.rejects(removeUser(run, 'root'), { code: 'conflict' });
  for (const username of ['-r', 'a b', '../x', ''])
    await assert.rejects(ensureUser(run, { username, ssh_public_keys: [] }), { code: 'blocked' });
  assert.deepEqual(calls(), []);
});

test('a key with a line break is refused', async () => {
  const { run } = accounts({});
  const keys = ['ssh-ed25519 AAAA\ncommand="id" ssh-ed25519 BBBB'];
  await assert.rejects(ensureUser(run, { username: 'tenant-a', ssh_public_keys: keys }), { code: 'blocked' });
});

test('an account is removed with its sessions: locked, then logged out, then deleted', async () => {
  const line = 'tenant-a:x:1001:1001:gpuaas tenant:/home/tenant-a:/bin/bash';
  const { run, calls } = accounts({ 'tenant-a': line }, ' 3 1001 tenant-a seat0\n 4 1002 other -\n');
  assert.deepEqual(await removeUser(run, 'tenant-a'), { sessions_ended: 1, was_present: true });
  assert.deepEqual(calls(), [
    'usermod --lock --expiredate 1 tenant-a',
    'loginctl list-sessions --no-legend',
    'loginctl terminate-user tenant-a',
    'pkill -KILL -u tenant-a',
    'userdel --remove tenant-a',
  ]);
  assert.deepEqual(await removeUser(run, 'tenant-a'), { sessions_ended: 0, was_present: false });
});
