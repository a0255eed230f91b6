import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { requires } from '../../tools/test/requires.ts';
import {
  hostNames,
  includeLine,
  isUsable,
  knownHosts,
  proxyCommand,
  type SshHost,
  sshConfig,
  withInclude,
  withoutInclude,
} from './ssh-files.ts';

const host: SshHost = {
  allocation_id: 'alc_01k9zv3m8q4t6w2x5y7r0s1n1a',
  name: 'train',
  project_id: 'prj_01k9zv3m8q4t6w2x5y7r0s1n1a',
  project_name: 'default',
  username: 'ubuntu',
  host_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8V9kq0pQ guest',
};
const parts = { known_hosts_file: '/home/ada/my files/known_hosts', proxy: () => ['gpuaas', 'ssh-proxy'] };
const OPTIONS = 8;

test('no allocation or project name can add a line, a pattern or an option', () => {
  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('*', '!x', '\nHost *', 'a b', '"', '#', '%h'),
  );
  fc.assert(
    fc.property(anything, anything, (name, project_name) => {
      const other = { ...host, allocation_id: 'alc_2', name, project_name: 'other' };
      const lines = sshConfig([{ ...host, name, project_name }, other], parts).split('\n');
      assert.equal(lines.length, 2 + 2 * (OPTIONS + 2));
      for (const line of lines.filter((text) => /^\S/.test(text) && !text.startsWith('#')))
        assert.match(line, /^Host (gpuaas-[A-Za-z0-9._-]* )?alc_[0-9a-z]+$/);
    }),
  );
});

test('values that are not a valid account, key or ID are unusable and not written', () => {
  const bad: readonly Partial<SshHost>[] = [
    { username: 'root\nProxyCommand x' },
    { username: '-oProxyCommand=x' },
    { username: 'a b' },
    { host_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB\n* ssh-ed25519 AAAA' },
    { host_key: '@cert-authority * ssh-ed25519' },
    { host_key: 'ssh-ed25519' },
    { allocation_id: '*' },
    { allocation_id: 'alc_1 alc_2' },
    { project_id: 'prj_1; rm -rf /' },
  ];
  assert.ok(isUsable(host));
  for (const more of bad) {
    assert.ok(!isUsable({ ...host, ...more }), JSON.stringify(more));
    assert.throws(() => sshConfig([{ ...host, ...more }], parts));
    assert.throws(() => knownHosts([{ ...host, ...more }]));
  }
});

test('known_hosts has one line per VM, with only its ID, key type and key', () => {
  assert.equal(knownHosts([host]), `${host.allocation_id} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8V9kq0pQ\n`);
  assert.equal(knownHosts([]), '');
});

test('clashing names get the project as a suffix, and names that still clash use only the ID', () => {
  const names = hostNames([
    host,
    { ...host, allocation_id: 'alc_2', project_name: 'research' },
    { ...host, allocation_id: 'alc_3', name: 'eval' },
    { ...host, allocation_id: 'alc_4', name: 'twin' },
    { ...host, allocation_id: 'alc_5', name: 'twin' },
  ]);
  assert.deepEqual([...names.values()], ['gpuaas-train.default', 'gpuaas-train.research', 'gpuaas-eval', null, null]);
});

test('arguments survive the shell that ssh uses for ProxyCommand, and nothing else is executed', () => {
  const word = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (words) => {
      const line = proxyCommand(['printf', '%s\\0', ...words]).replaceAll('%%', '%');
      const { stdout } = spawnSync('sh', ['-c', line], { encoding: 'utf8' });
      assert.deepEqual(stdout.split('\0').slice(0, -1), words);
    }),
    { numRuns: 30 },
  );
  assert.equal(proxyCommand(['/my node/bin', '%h']), "'/my node/bin' '%%h'");
});

test('OpenSSH parses the generated configuration as intended', { skip: requires('ssh') }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas ssh-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'config');
  await writeFile(file, sshConfig([host], { ...parts, proxy: () => ['/my node', 'x%y'] }), { mode: 0o600 });
  const { stdout, stderr } = spawnSync('ssh', ['-G', '-F', file, 'gpuaas-train'], { encoding: 'utf8' });
  const read = new Map(stdout.split('\n').map((line) => [line.split(' ')[0], line.slice(line.indexOf(' ') + 1)]));
  assert.deepEqual(
    ['hostname', 'user', 'hostkeyalias', 'stricthostkeychecking', 'proxycommand'].map((name) => read.get(name)),
    [host.allocation_id, 'ubuntu', host.allocation_id, 'true', "'/my node' 'x%%y'"],
    stderr,
  );
  assert.match(read.get('userknownhostsfile') ?? '', /\/home\/ada\/my files\/known_hosts/);
});

test('the Include line is added once at the top and removed again, and nothing else changes', () => {
  const line = includeLine('/home/ada/.ssh/gpuaas_config');
  const own = '# mine\nHost x\n  User y\n';
  const once = withInclude(own, line);
  assert.equal(once, `Include "/home/ada/.ssh/gpuaas_config"\n${own}`);
  assert.equal(withInclude(once, line), once);
  assert.equal(withoutInclude(once, line), own);
  assert.throws(() => includeLine('/home/*/config'));
  assert.throws(() => includeLine('/home/a"b'));
});
