/**
 * Configures ssh, scp, rsync and editors that use them to reach allocations by name: a file of hosts beside the user's
 * own configuration, one Include line there, and known_hosts with the host keys that VMs reported. Each file is written
 * completely, so released allocations disappear from it.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Allocation } from '@gpuaas/sdk';
import { command, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError, UsageError } from '../exit.ts';
import { pathOf } from '../io.ts';
import { proxyWords, sshHost } from '../ssh-access.ts';
import {
  hostNames,
  includeLine,
  knownHosts,
  type SshHost,
  sshConfig,
  withInclude,
  withoutInclude,
} from '../ssh-files.ts';

const readText = (path: string): Promise<string | null> =>
  readFile(path, 'utf8').catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return null;
    throw new CliError('failure', `${path} cannot be read: ${err.code ?? err.message}.`);
  });

/** By rename, so that ssh never reads half a file; follows a symlink and keeps the file mode. */
const replace = async (path: string, content: string): Promise<void> => {
  const target = await realpath(path).catch(() => path);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const temporary = `${target}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeFile(temporary, content, { mode, flag: 'wx' });
    await chmod(temporary, mode);
    await rename(temporary, target);
  } catch (err) {
    throw new CliError('failure', `${path} cannot be written: ${err instanceof Error ? err.message : err}`);
  } finally {
    await rm(temporary, { force: true });
  }
};

type Place = Readonly<{ id: string; name: string }>;

const placesOf = async (cli: Cli, named: string | undefined): Promise<readonly Place[]> => {
  if (named === undefined) return (await cli.me()).projects;
  const params = { project_id: await cli.project() };
  const { id, name } = await (await cli.client()).projectGet({ params }, { signal: cli.signal });
  return [{ id, name }];
};

/** Lists contain no SSH facts, so each active allocation is read; a named allocation must exist. */
const hostsOf = async (cli: Cli, places: readonly Place[], names: readonly string[]): Promise<SshHost[]> => {
  const client = await cli.client();
  const isMeant = ({ id, name }: Allocation) => names.length === 0 || names.includes(name) || names.includes(id);
  const hosts: SshHost[] = [];
  const seen = new Set<string>();
  for (const place of places) {
    const query = { state: 'active' as const };
    const request = { params: { project_id: place.id }, query };
    for await (const row of client.pages.allocationList(request, { signal: cli.signal })) {
      if (!isMeant(row)) continue;
      for (const word of [row.name, row.id]) seen.add(word);
      const params = { project_id: place.id, allocation_id: row.id };
      const host = sshHost(await client.allocationGet({ params }, { signal: cli.signal }), place.name);
      if (host === null) cli.out.say(`${row.name} is left out: it has not reported an SSH host key.`);
      else hosts.push(host);
    }
  }
  const missing = names.filter((name) => !seen.has(name));
  if (missing.length > 0)
    throw new CliError('not_found', `No active allocation named ${missing.map((name) => `"${name}"`).join(', ')}.`);
  return hosts.sort((a, b) => (a.allocation_id < b.allocation_id ? -1 : 1));
};

export const sshConfigCommand = command({
  name: 'ssh-config',
  summary: 'Configure SSH access to allocations',
  scope: 'project',
  args: { 'allocations...': 'Names or IDs (default: all active allocations)' },
  flags: {
    write: toggle('Write the files and include them in ~/.ssh/config'),
    remove: toggle('Remove the files and the Include line'),
    file: text('File to write (default ~/.ssh/gpuaas_config)', 'file'),
  },
  examples: ['gpuaas ssh-config --write', 'ssh gpuaas-train', 'scp data.tar gpuaas-train:'],
  run: async (cli, { args, flags }) => {
    if (flags.write && flags.remove) throw new UsageError('--write and --remove cannot be combined.');
    const own = join(cli.env['HOME'] || homedir(), '.ssh');
    const file = pathOf(cli.io, flags.file ?? join(own, 'gpuaas_config'));
    const config_file = join(own, 'config');
    const settings = await cli.settings();
    const known_hosts_file = join(dirname(settings.config_file), 'known_hosts');
    const include = includeLine(file);
    if (flags.remove) {
      const config = await readText(config_file);
      if (config !== null && withoutInclude(config, include) !== config)
        await replace(config_file, withoutInclude(config, include));
      for (const path of [file, known_hosts_file]) await rm(path, { force: true });
      if (cli.out.json) return cli.out.item({ file, removed: true });
      return cli.out.print(`Removed ${file} and its Include line in ${config_file}.`);
    }
    const { project } = flags as { project?: string };
    const hosts = await hostsOf(cli, await placesOf(cli, project), args.allocations);
    const proxies = new Map(
      await Promise.all(hosts.map(async (host) => [host.allocation_id, await proxyWords(cli, host)] as const)),
    );
    const proxy = ({ allocation_id }: SshHost) => proxies.get(allocation_id) ?? [];
    const content = sshConfig(hosts, { known_hosts_file, proxy });
    // A part of ssh_config, also into a pipe: JSON would be of no use here.
    if (!flags.write) return void cli.io.stdout.write(content);
    await replace(known_hosts_file, knownHosts(hosts));
    await replace(file, content);
    const before = (await readText(config_file)) ?? '';
    const after = withInclude(before, include);
    if (after !== before) await replace(config_file, after);
    if (settings.credential === 'environment') cli.out.say('Set GPUAAS_TOKEN also in the environment of ssh.');
    const names = hostNames(hosts);
    const rows = hosts.map(({ allocation_id, name }) => ({
      host: names.get(allocation_id) ?? allocation_id,
      allocation_id,
      name,
    }));
    if (cli.out.json) return cli.out.item({ file, known_hosts_file, hosts: rows });
    cli.out.print(`Wrote ${rows.length === 1 ? '1 host' : `${rows.length} hosts`} to ${file}.`);
    for (const { host } of rows) cli.out.print(`  ssh ${host}`);
  },
});
