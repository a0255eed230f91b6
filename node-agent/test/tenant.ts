/** A tenant with a key who connects to a VM with the published address, account and host key. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type At = Readonly<{ ip: string; host_key: string }>;
type Answer = Readonly<{ status: number | null; stdout: string; stderr: string }>;

export type Tenant = Readonly<{
  public_key: string;
  key_file: string;
  /** Over SSH, with the reported host key of the guest OS. */
  ask(at: At, command: string, maxMs?: number): Promise<Answer>;
  /** The same, for a command that must succeed. */
  run(at: At, command: string, maxMs?: number): Promise<string>;
  remove(): void;
}>;

/** `prefix` is the command prefix of a place that can reach VMs. */
export const makeTenant = (prefix: readonly string[]): Tenant => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-tenant-'));
  const key = join(dir, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'tenant', '-f', key]);
  const ask: Tenant['ask'] = ({ ip, host_key }, command, maxMs = 30_000) =>
    new Promise((resolve) => {
      const known = join(dir, `known-${ip}`);
      // Another connection may be reading it.
      writeFileSync(`${known}.new`, `${ip} ${host_key}\n`);
      renameSync(`${known}.new`, known);
      const options = [
        `UserKnownHostsFile=${known}`,
        'StrictHostKeyChecking=yes',
        'BatchMode=yes',
        'IdentitiesOnly=yes',
        'ConnectTimeout=10',
      ];
      const [file = '', ...args] = [
        ...prefix,
        ...['ssh', '-i', key, ...options.flatMap((option) => ['-o', option]), `ubuntu@${ip}`, command],
      ];
      execFile(file, args, { timeout: maxMs }, (error, stdout, stderr) =>
        resolve({ status: error === null ? 0 : typeof error.code === 'number' ? error.code : null, stdout, stderr }),
      );
    });
  return {
    key_file: key,
    public_key: readFileSync(`${key}.pub`, 'utf8').trim(),
    ask,
    run: async (at, command, maxMs) => {
      const { status, stdout, stderr } = await ask(at, command, maxMs);
      if (status !== 0) throw new Error(`${command}: ${status ?? 'no answer'} ${stderr}`);
      return stdout;
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
};
