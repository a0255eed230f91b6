/**
 * One lab per state directory. The run file names the supervising process; owning the file means owning the lab. The
 * file is created complete (written elsewhere, then linked), so of two simultaneous starts one wins, and a file whose
 * process has ended is taken over. Processes are identified with their start time: a pid alone may belong to another
 * process.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { findProcessIdentity, invariant, isProcessAlive } from '@gpuaas/kit';

export type Run = Readonly<{
  supervisor: string;
  url: string;
  /** The server process, once started: it outlives a supervisor that was killed. */
  server: string | null;
  /** The simulated hosts' process, likewise. */
  fleet: string | null;
  /** Simulated hosts that can be launched on. */
  hosts_ready: number;
  ready: boolean;
}>;

export type Claim = Readonly<{
  update(change: Partial<Omit<Run, 'supervisor'>>): void;
  release(): void;
}>;

export const pidOf = (identity: string): number => Number(identity.split(':')[0]);

export const findRun = (file: string): Run | undefined => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Run;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
};

/** A run whose supervisor is running. */
export const findLiveRun = (file: string): Run | undefined => {
  const run = findRun(file);
  return run && isProcessAlive(run.supervisor) ? run : undefined;
};

const linkNew = (aside: string, file: string): boolean => {
  try {
    linkSync(aside, file);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw err;
  }
};

/** Moves a dead run's file away; leaves it, or restores it, if a new owner was faster. */
const setAside = (file: string): void => {
  if (findLiveRun(file) !== undefined) return;
  const aside = `${file}.${process.pid}.stale`;
  try {
    renameSync(file, aside);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw err;
  }
  if (findLiveRun(aside) !== undefined) linkNew(aside, file);
  rmSync(aside, { force: true });
};

/** The claim, or the run that holds it. `clearUp` is called with a dead run before it is replaced. */
export const claimRun = async (
  file: string,
  url: string,
  clearUp: (dead: Run) => Promise<void>,
): Promise<Readonly<{ claim: Claim } | { held: Run }>> => {
  const supervisor = findProcessIdentity(process.pid);
  invariant(supervisor !== undefined, 'this process has an identity');
  let run: Run = { supervisor, url, server: null, fleet: null, hosts_ready: 0, ready: false };
  const aside = `${file}.${process.pid}.new`;
  const write = () => writeFileSync(aside, `${JSON.stringify(run)}\n`, { mode: 0o600 });
  const claim: Claim = {
    update: (change) => {
      run = { ...run, ...change };
      write();
      renameSync(aside, file);
    },
    release: () => rmSync(file, { force: true }),
  };
  for (;;) {
    write();
    const won = linkNew(aside, file);
    rmSync(aside);
    if (won) return { claim };
    const other = findRun(file);
    if (other === undefined) continue;
    if (isProcessAlive(other.supervisor)) return { held: other };
    await clearUp(other);
    setAside(file);
  }
};
