/**
 * The system's own ssh, through the gateway: it starts this CLI again as its ProxyCommand and trusts exactly the host
 * key that the VM reported to the control plane.
 */
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { clean, commandLine } from '../clean.ts';
import { command, list, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { allocationParams } from '../find.ts';
import { exitOfSignal, joinProcess, openSession } from '../session.ts';
import { assertSshHost, proxyWords } from '../ssh-access.ts';
import { knownHosts, sshOptions } from '../ssh-files.ts';

/** The exit code of ssh itself if it could not connect. */
const SSH_FAILED = 255;

/** Ctrl-C reaches ssh from the terminal; a signal sent only to this process is forwarded. */
const runSsh = (words: readonly string[]): Promise<Readonly<{ code: number; isInterrupted: boolean }>> =>
  new Promise((resolve, reject) => {
    const child = spawn('ssh', words, { stdio: 'inherit' });
    let isInterrupted = false;
    const ignored = () => {
      isInterrupted = true;
    };
    const passed = (signal: NodeJS.Signals) => {
      isInterrupted = true;
      child.kill(signal);
    };
    const signals = { SIGINT: ignored, SIGTERM: passed, SIGHUP: passed } as const;
    for (const [name, listener] of Object.entries(signals)) process.on(name as NodeJS.Signals, listener);
    const done = () => {
      for (const [name, listener] of Object.entries(signals)) process.off(name as NodeJS.Signals, listener);
    };
    child.once('error', (err: NodeJS.ErrnoException) => {
      done();
      const isMissing = err.code === 'ENOENT';
      reject(
        isMissing
          ? new CliError('failure', 'ssh is not installed.', 'Install OpenSSH, or use: gpuaas terminal <name>')
          : err,
      );
    });
    child.once('close', (code, signal) => {
      done();
      resolve({ code: code ?? exitOfSignal(signal ?? ''), isInterrupted });
    });
  });

/** ssh reports that none of the user's keys is installed, but not how to install one. */
const withoutKey = (cli: Cli, name: string): string => {
  const next = (...words: string[]) => commandLine(['gpuaas', ...words, ...cli.scope_words]);
  return [
    'If ssh reported "Permission denied", none of your keys is installed. Grant one:',
    `  ${next('allocation', 'grant', name, '--key', 'NAME')}`,
    `Connect without a key: ${next('terminal', name)}`,
  ].join('\n');
};

export const ssh = command({
  name: 'ssh',
  summary: 'Connect with SSH, or run a remote command',
  scope: 'project',
  args: { allocation: 'Name or ID', 'command...': 'Remote command; put it after -- if it has flags' },
  flags: {
    identity: { ...list('Private key file for ssh; repeatable', 'file'), short: 'i' },
    option: { ...list('Option for ssh, like LocalForward=8888 localhost:8888', 'name=value'), short: 'o' },
    tty: { ...toggle('Allocate a terminal for the command'), short: 't' },
  },
  examples: [
    'gpuaas ssh train',
    'gpuaas ssh train -- nvidia-smi -L',
    'gpuaas ssh train -i ~/.ssh/work -- "cd /data && ls"',
  ],
  run: async (cli, { args, flags }) => {
    const params = await allocationParams(cli, args.allocation);
    const host = assertSshHost(cli, await (await cli.client()).allocationGet({ params }, { signal: cli.signal }));
    const folder = await mkdtemp(joinPath(tmpdir(), 'gpuaas-ssh-'));
    const said = joinPath(folder, 'said');
    const proxy = await proxyWords(cli, host, [`--correlation-id=${cli.correlation_id}`, `--said=${said}`]);
    try {
      const known_hosts_file = joinPath(folder, 'known_hosts');
      await writeFile(known_hosts_file, knownHosts([host]), { mode: 0o600 });
      // The first value of an option wins, so options of the user cannot override these.
      const options = sshOptions(host, { known_hosts_file, proxy: () => proxy });
      const { code, isInterrupted } = await runSsh([
        ...options.flatMap((option) => ['-o', option]),
        ...(flags.identity ?? []).flatMap((file) => ['-i', file]),
        ...(flags.option ?? []).flatMap((option) => ['-o', option]),
        ...(flags.tty ? ['-t'] : []),
        host.allocation_id,
        ...(args.command.length === 0 ? [] : ['--', ...args.command]),
      ]);
      if (code === SSH_FAILED && !isInterrupted && !existsSync(said)) cli.out.say(withoutKey(cli, host.name));
      return code;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
});

/** Bytes between ssh and the SSH port of the VM. An error is one sentence on standard error. */
export const sshProxy = command({
  name: 'ssh-proxy',
  summary: 'ProxyCommand of ssh',
  scope: 'project',
  hidden: true,
  args: { allocation: 'ID' },
  flags: { said: text('File to create when an error was printed', 'file') },
  run: async (cli, { args, flags }) => {
    const say = (sentence: string) => {
      cli.io.stderr.write(`gpuaas: ${clean(sentence)}\n`);
      if (flags.said !== undefined) writeFileSync(flags.said, '');
    };
    try {
      const stream = await openSession(cli, { ...(await allocationParams(cli, args.allocation)), kind: 'ssh' });
      const { reason, message } = await joinProcess(stream, cli.io);
      // If ssh has closed its side, the end is its own; otherwise ssh only sees that the connection closed.
      if (reason === 'client_disconnected' || (reason === 'ended' && cli.io.stdin.readableEnded)) return EXIT.ok;
      say(message);
    } catch (err) {
      say(err instanceof Error ? err.message : String(err));
    }
    cli.io.stdin.destroy();
    return SSH_FAILED;
  },
});
