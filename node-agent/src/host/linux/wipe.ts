/**
 * Wipes with a method that the disk reported as supported. The command's status is not a proof; it is passed on beside
 * the read-back, which is. An unsupported method is refused and never replaced by a weaker one.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { DiskFacts, WipeMethod } from '@gpuaas/contract/node';
import { type EraseKind, eraseKindOf } from '../erase.ts';
import { HostError } from '../host.ts';
import { jsonOf, outputOf, type Run } from './run.ts';

const FD = '/proc/self/fd/3';
const MINUTE = 60_000;
const WIPE_MAX_MS = 120 * MINUTE;
const SANITIZE_POLL_MS = 1_000;
/** The result of the newest operation in the sanitize status. */
const STATUS_MASK = 7;
const UNDER_WAY = 2;
const DONE = [1, 4];

/** The agent holds the exclusive lock, so a tool that would take it is run without locking. */
const argvOf = (method: WipeMethod, kind: EraseKind): readonly [string, ...string[]] => {
  switch (method) {
    case 'blkdiscard':
      return ['blkdiscard', '--force', FD];
    case 'nvme_format':
      return ['nvme', 'format', FD, `--ses=${kind === 'crypto' ? 2 : 1}`, '--force'];
    case 'nvme_sanitize':
      return ['nvme', 'sanitize', FD, `--sanact=start-${kind}-erase`];
  }
};

/** `{"nvme0": {"sstat": {"status": "(1) …"}}}`; older versions print the whole field as a number. */
export const sanitizeStatusOf = (text: string): number => {
  const [log] = Object.values(jsonOf(text, 'nvme sanitize-log') as Readonly<Record<string, unknown>>);
  const field = (log as Readonly<Record<string, unknown>> | undefined)?.['sstat'];
  if (typeof field === 'number') return field & STATUS_MASK;
  const words = (field as Readonly<Record<string, unknown>> | undefined)?.['status'];
  const digit = /^\((\d)\)/.exec(String(words))?.[1];
  if (digit === undefined) throw new HostError('host_error', 'nvme sanitize-log reports no status.');
  return Number(digit);
};

/** A sanitize continues in the disk, also through a crash or a reboot of the host; its log shows when it has ended. */
const awaitSanitize = async (run: Run, fd: number): Promise<number> => {
  const deadline = Date.now() + WIPE_MAX_MS;
  while (Date.now() < deadline) {
    const text = await outputOf(run, {
      argv: ['nvme', 'sanitize-log', FD, '--output-format=json'],
      recorded: 'nvme-sanitize-log.json',
      fd,
    });
    const status = sanitizeStatusOf(text);
    if (status !== UNDER_WAY) return status;
    await pause(SANITIZE_POLL_MS);
  }
  throw new HostError('timeout', `The disk did not finish its sanitize within ${WIPE_MAX_MS / MINUTE} minutes.`);
};

/**
 * A sanitize from an earlier attempt continues through a crash and a reboot, and until it ends the disk refuses all
 * commands. Its result does not count: this wipe follows it.
 */
export const awaitEarlier = async (run: Run, fd: number, erase: DiskFacts['erase']): Promise<void> => {
  if ('value' in erase && (erase.value.sanitize_crypto || erase.value.sanitize_block)) await awaitSanitize(run, fd);
};

export const wipeDisk = async (
  run: Run,
  fd: number,
  method: WipeMethod,
  disk: Pick<DiskFacts, 'serial' | 'erase'>,
): Promise<Readonly<{ command_status: number }>> => {
  if ('unreadable' in disk.erase)
    throw new HostError('blocked', `The wipe methods of ${disk.serial} are unreadable: ${disk.erase.unreadable}`);
  const kind = eraseKindOf(method, disk.erase.value);
  if (kind === null) throw new HostError('unsupported', `Disk ${disk.serial} does not support ${method}.`);
  await awaitEarlier(run, fd, disk.erase);
  const argv = argvOf(method, kind);
  const { status } = await run({ argv, recorded: 'wipe.txt', timeout_ms: WIPE_MAX_MS, fd, ends_with_agent: true });
  if (status !== 0 || method !== 'nvme_sanitize') return { command_status: status };
  return { command_status: DONE.includes(await awaitSanitize(run, fd)) ? 0 : 1 };
};
