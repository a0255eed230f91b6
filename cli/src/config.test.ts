import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { configPath, readConfig, updateConfig, withProfile } from './config.ts';

const temporary = async (t: { after(fn: () => Promise<void>): void }): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-config-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return configPath({ XDG_CONFIG_HOME: folder });
};

test('the configuration file is readable only by its owner, whatever the umask', async (t) => {
  const path = await temporary(t);
  const before = process.umask(0);
  await updateConfig(path, (config) => withProfile(config, 'default', { token: 'gp_1' })).finally(() =>
    process.umask(before),
  );
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await stat(dirname(path))).mode & 0o777, 0o700);
  assert.deepEqual((await readConfig(path)).profiles, { default: { token: 'gp_1' } });
});

test('a configuration readable by others is refused, and the error prints the command that fixes it', async (t) => {
  const path = await temporary(t);
  await updateConfig(path, (config) => withProfile(config, 'default', { token: 'gp_1' }));
  await chmod(path, 0o640);
  await assert.rejects(readConfig(path), { exit: 'auth', help: `It holds credentials. Run: chmod 600 ${path}` });
});

test('concurrent configuration changes are all kept', async (t) => {
  const path = await temporary(t);
  const names = Array.from({ length: 12 }, (_, index) => `p${index}`);
  await Promise.all(
    names.map((name) => updateConfig(path, (config) => withProfile(config, name, { url: `https://${name}` }))),
  );
  assert.deepEqual(Object.keys((await readConfig(path)).profiles).sort(), names.sort());
  assert.deepEqual(await readdir(dirname(path)), ['config.toml']);
});

test('the lock of a dead process is taken over', async (t) => {
  const path = await temporary(t);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.lock`, '999999999');
  await updateConfig(path, (config) => withProfile(config, 'a', {}));
  await writeFile(`${path}.lock`, String(process.pid));
  const longAgo = new Date(Date.now() - 3_600_000);
  await utimes(`${path}.lock`, longAgo, longAgo);
  await updateConfig(path, (config) => withProfile(config, 'b', {}));
  assert.deepEqual(Object.keys((await readConfig(path)).profiles), ['a', 'b']);
});

test('a failed change leaves the file unchanged and no lock', async (t) => {
  const path = await temporary(t);
  await updateConfig(path, (config) => withProfile(config, 'default', { token: 'gp_1' }));
  const before = await readFile(path, 'utf8');
  await assert.rejects(
    updateConfig(path, () => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  assert.equal(await readFile(path, 'utf8'), before);
  assert.deepEqual(await readdir(dirname(path)), ['config.toml']);
});

test('an invalid TOML file is named in the error and not overwritten', async (t) => {
  const path = await temporary(t);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '[profiles', { mode: 0o600 });
  await assert.rejects(
    updateConfig(path, (config) => withProfile(config, 'a', {})),
    { message: /is not TOML/ },
  );
  assert.equal(await readFile(path, 'utf8'), '[profiles');
});
