/**
 * The two files that make an ordinary OpenSSH client work with allocations: known_hosts, with the host key that each VM
 * reported, and a part of ssh_config that connects through this CLI. OpenSSH obeys every line of both, so only values
 * of exactly the expected form are written: no name can add a line, a pattern or an option.
 */
import { CliError } from './exit.ts';

export type SshHost = Readonly<{
  allocation_id: string;
  name: string;
  project_id: string;
  project_name: string;
  username: string;
  host_key: string;
}>;

const ALLOCATION_ID = /^alc_[0-9a-z]{1,40}$/;
const PROJECT_ID = /^prj_[0-9a-z]{1,40}$/;
const USERNAME = /^[a-z_][a-z0-9_-]{0,31}$/;
const HOST_KEY = /^([a-z0-9][a-z0-9@.-]{2,63} [A-Za-z0-9+/]{16,16384}={0,3})(?: [^\p{Cc}]*)?$/u;

/** Whether every part has the form of a platform VM; anything else is left out and reported. */
export const isUsable = (host: SshHost): boolean =>
  ALLOCATION_ID.test(host.allocation_id) &&
  PROJECT_ID.test(host.project_id) &&
  USERNAME.test(host.username) &&
  HOST_KEY.test(host.host_key);

const assertUsable = (host: SshHost): void => {
  if (!isUsable(host)) throw new CliError('failure', `The API returned invalid SSH data for ${host.allocation_id}.`);
};

export const knownHosts = (hosts: readonly SshHost[]): string =>
  hosts
    .map((host) => {
      assertUsable(host);
      return `${host.allocation_id} ${HOST_KEY.exec(host.host_key)?.[1]}\n`;
    })
    .join('');

/** A name as one word that is not a pattern. */
const word = (name: string): string => name.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(0, 100);

/**
 * `gpuaas-NAME`, with the project if two allocations have the name. A name that is still ambiguous is replaced by the
 * ID.
 */
export const hostNames = (hosts: readonly SshHost[]): ReadonlyMap<string, string | null> => {
  const short = (host: SshHost) => `gpuaas-${word(host.name)}`;
  const long = (host: SshHost) => `${short(host)}.${word(host.project_name)}`;
  const counts = new Map<string, number>();
  const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const host of hosts) for (const name of new Set([short(host), long(host)])) count(name);
  const chosen = (host: SshHost) => [short(host), long(host)].find((name) => counts.get(name) === 1) ?? null;
  return new Map(hosts.map((host) => [host.allocation_id, chosen(host)]));
};

/** A path as one value of ssh_config: quoted, and without tokens that ssh would expand. */
export const sshValue = (path: string): string => {
  if (/[\p{Cc}"\\]|\$\{/u.test(path)) throw new CliError('failure', `OpenSSH cannot use the path ${path}.`);
  return `"${path.replaceAll('%', '%%')}"`;
};

const shellWord = (text: string): string => {
  if (/\p{Cc}/u.test(text)) throw new CliError('failure', 'A path contains a control character.');
  if (/^[\w@+=:,./-]+$/.test(text)) return text;
  // Windows has no POSIX shell; there a word in double quotes stays one word.
  return process.platform === 'win32' ? `"${text.replaceAll('"', '')}"` : `'${text.replaceAll("'", "'\\''")}'`;
};

/** Run by the user's shell, after ssh has expanded `%`. */
export const proxyCommand = (words: readonly string[]): string => words.map(shellWord).join(' ').replaceAll('%', '%%');

export type ConfigParts = Readonly<{
  known_hosts_file: string;
  proxy: (host: SshHost) => readonly string[];
}>;

/** Options for every connection, whatever the user's own configuration contains. */
export const sshOptions = (host: SshHost, { known_hosts_file, proxy }: ConfigParts): readonly string[] => {
  assertUsable(host);
  return [
    `HostName ${host.allocation_id}`,
    `HostKeyAlias ${host.allocation_id}`,
    `User ${host.username}`,
    `ProxyCommand ${proxyCommand(proxy(host))}`,
    `UserKnownHostsFile ${sshValue(known_hosts_file)}`,
    'StrictHostKeyChecking yes',
    'UpdateHostKeys no',
    'ServerAliveInterval 30',
  ];
};

export const sshConfig = (hosts: readonly SshHost[], parts: ConfigParts): string => {
  const names = hostNames(hosts);
  const blocks = hosts.map((host) => {
    const name = names.get(host.allocation_id) ?? null;
    const patterns = [...(name === null ? [] : [name]), host.allocation_id].join(' ');
    return [`Host ${patterns}`, ...sshOptions(host, parts).map((line) => `  ${line}`), ''].join('\n');
  });
  return ['# Written by `gpuaas ssh-config --write`. Each run replaces the whole file.', '', ...blocks].join('\n');
};

/** The line at the top of the user's configuration: below the first Host it would apply only to that host. */
export const includeLine = (file: string): string => {
  if (/[*?[\]]/.test(file)) throw new CliError('failure', `OpenSSH would read ${file} as a pattern.`);
  return `Include ${sshValue(file)}`;
};

export const withInclude = (config: string, line: string): string =>
  config.split(/\r?\n/).some((other) => other.trim() === line) ? config : `${line}\n${config}`;

export const withoutInclude = (config: string, line: string): string =>
  config
    .split('\n')
    .filter((other) => other.trim() !== line)
    .join('\n');
