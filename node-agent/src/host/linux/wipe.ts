/**
 * Erasing by what the drive said it can do. The command's status is not a proof; it is handed on beside the read-back
 * that is. A method that the drive does not offer is refused and never replaced by a weaker one.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { DiskFacts } from '@gpuaas/contract/node';
import { HostError, type WipeMethod } from '../host.ts';
import { jsonOf, outputOf, type Run } from './run.ts';

const FD = '/proc/self/fd/3';
const MINUTE = 60_000;
const WIPE_MAX_MS = 120 * MINUTE;
const SANITIZE_POLL_MS = 1_000;
/** Of the sanitize status: what the newest operation came to. */
const STATUS_MASK = 7;
const DONE = [1, 4];
const FAILED = 3;

type Ability = Extract<DiskFacts['erase'], { value: unknown }>['value'];

const argvOf = (method: WipeMethod, can: Ability): readonly [string, ...string[]] | null => {
  if (method === 'blkdiscard') return can.discard ? ['blkdiscard', FD] : null;
  if (method === 'nvme_format')
    return can.format ? ['nvme', 'format', FD, `--ses=${can.format_crypto ? 2 : 1}`, '--force'] : null;
  const action = can.sanitize_crypto ? 'start-crypto-erase' : can.sanitize_block ? 'start-block-erase' : null;
  return action === null ? null : ['nvme', 'sanitize', FD, `--sanact=${action}`];
};

/** `{"nvme0": {"sstat": {"status": "(1) …"}}}`; older versions print the whole field as a number. */
export const sanitizeStatusOf = (text: string): number => {
  const [log] = Object.values(jsonOf(text, 'nvme sanitize-log') as Readonly<Record<string, unknown>>);
  const field = (log as Readonly<Record<string, unknown>> | undefined)?.['sstat'];
  if (typeof field === 'number') return field & STATUS_MASK;
  const words = (field as Readonly<Record<string, unknown>> | undefined)?.['status'];
  const digit = /^\((\d)\)/.exec(String(words))?.[1];
  if (digit === undefined) throw new HostError('host_error', 'nvme sanitize-log tells no status.');
  return Number(digit);
};

/** The command only begins it; the log says when it has ended. */
const awaitSanitize = async (run: Run, fd: number): Promise<number> => {
  const deadline = Date.now() + WIPE_MAX_MS;
  while (Date.now() < deadline) {
    const text = await outputOf(run, {
      argv: ['nvme', 'sanitize-log', FD, '--output-format=json'],
      recorded: 'nvme-sanitize-log.json',
      fd,
    });
    const status = sanitizeStatusOf(text);
    if (DONE.includes(status)) return 0;
    if (status === FAILED) return 1;
    await pause(SANITIZE_POLL_MS);
  }
  throw new HostError('timeout', `The drive did not end its sanitize within ${WIPE_MAX_MS / MINUTE} minutes.`);
};

export const wipeDisk = async (
  run: Run,
  fd: number,
  method: WipeMethod,
  disk: DiskFacts,
): Promise<Readonly<{ command_status: number }>> => {
  if ('unreadable' in disk.erase)
    throw new HostError('blocked', `How ${disk.serial} can be erased could not be read: ${disk.erase.unreadable}`);
  const argv = argvOf(method, disk.erase.value);
  if (argv === null) throw new HostError('unsupported', `Drive ${disk.serial} does not offer ${method}.`);
  const { status } = await run({ argv, recorded: 'wipe.txt', timeout_ms: WIPE_MAX_MS, fd });
  if (status !== 0 || method !== 'nvme_sanitize') return { command_status: status };
  return { command_status: await awaitSanitize(run, fd) };
};
