/**
 * The identity of a process. The kernel reuses a pid once its process has ended, so a pid in a file is ambiguous; a pid
 * with its start time names one process permanently.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const ps = (pid: number, column: string): string | undefined => {
  const result = spawnSync('ps', ['-ww', '-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8' });
  return result.status === 0 ? result.stdout.trim() || undefined : undefined;
};

const readProc = (pid: number, file: string): string | undefined => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
};

/** `<pid>:<start>` of a running process, or undefined when there is none (a zombie counts as none). */
export const findProcessIdentity = (pid: number): string | undefined => {
  if (process.platform !== 'linux') {
    const started = ps(pid, 'lstart');
    return started === undefined ? undefined : `${pid}:${started.replaceAll(/\W+/g, '-')}`;
  }
  const stat = readProc(pid, 'stat');
  if (stat === undefined) return undefined;
  // The name in parentheses may contain spaces and parentheses: count fields after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return `${pid}:${fields[19]}`;
};

/** Whether the process with this identity still runs. */
export const isProcessAlive = (identity: string): boolean => {
  const pid = Number(identity.split(':')[0]);
  return Number.isInteger(pid) && pid > 0 && findProcessIdentity(pid) === identity;
};

/** The arguments of a running process joined by spaces, or undefined when there is none. */
export const findProcessCommand = (pid: number): string | undefined =>
  process.platform === 'linux' ? readProc(pid, 'cmdline')?.replaceAll('\0', ' ').trim() || undefined : ps(pid, 'args');
