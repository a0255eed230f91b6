/** Which allocations ssh can reach, with which account and host key, and how it starts this CLI to connect. */
import type { Allocation } from '@gpuaas/sdk';
import { commandLine } from './clean.ts';
import type { Cli } from './context.ts';
import { CliError } from './exit.ts';
import { isUsable, type SshHost } from './ssh-files.ts';
import { allocationText } from './state-text.ts';

/** What must be done before a connection is possible, or null. */
export const notReady = (cli: Cli, found: Allocation): CliError | null => {
  const next = (...words: string[]) => commandLine(['gpuaas', 'allocation', ...words, found.name, ...cli.scope_words]);
  if (found.state === 'requested' || found.state === 'provisioning')
    return new CliError(
      'conflict',
      `${found.name} is ${found.state}: it does not accept connections yet.`,
      next('watch'),
    );
  if (found.state !== 'active')
    return new CliError('conflict', `${allocationText(found.name, found.state)}.`, next('get'));
  if (found.power !== null && found.power.state !== 'on')
    return new CliError('conflict', `The VM of ${found.name} is ${found.power.state}.`, next('start'));
  return null;
};

export const sshHost = (found: Allocation, project_name: string): SshHost | null => {
  const { id: allocation_id, name, project_id, ssh } = found;
  if (found.state !== 'active' || ssh === null) return null;
  const host = { allocation_id, name, project_id, project_name, username: ssh.username, host_key: ssh.host_key };
  return isUsable(host) ? host : null;
};

export const assertSshHost = (cli: Cli, found: Allocation): SshHost => {
  const problem = notReady(cli, found);
  if (problem !== null) throw problem;
  const host = sshHost(found, '');
  if (host === null)
    throw new CliError(
      'conflict',
      `${found.name} has not reported an SSH host key, so ssh cannot verify it.`,
      `Connect without SSH: ${commandLine(['gpuaas', 'terminal', found.name, ...cli.scope_words])}`,
    );
  return host;
};

/**
 * The command line of this CLI with the same runtime, file, configuration directory, profile and address. A token from
 * the environment is not written anywhere.
 */
export const proxyWords = async (cli: Cli, host: SshHost, more: readonly string[] = []): Promise<readonly string[]> => {
  const { profile_name, url } = await cli.settings();
  const folder = cli.env['XDG_CONFIG_HOME'];
  return [
    ...(folder ? ['env', `XDG_CONFIG_HOME=${folder}`] : []),
    ...cli.io.self,
    'ssh-proxy',
    host.allocation_id,
    `--project=${host.project_id}`,
    `--profile=${profile_name}`,
    `--url=${url}`,
    ...more,
  ];
};
