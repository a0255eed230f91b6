/** Ends a process by its identity: with SIGTERM, then with SIGKILL after a timeout. */
import { isProcessAlive, pause } from '@gpuaas/kit';
import { pidOf } from './run-file.ts';

const POLL_MS = 25;

const signalProcess = (identity: string, signal: NodeJS.Signals): void => {
  try {
    process.kill(pidOf(identity), signal);
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === 'ESRCH') return;
    if (code === 'EPERM') throw new Error(`Process ${pidOf(identity)} belongs to another user; stop it as that user.`);
    throw err;
  }
};

const waitUntilGone = async (identity: string, withinMs: number): Promise<boolean> => {
  const deadline = Date.now() + withinMs;
  while (isProcessAlive(identity)) {
    if (Date.now() > deadline) return false;
    await pause(POLL_MS);
  }
  return true;
};

/** Returns when it has ended. */
export const stopProcess = async (identity: string, politeMs: number): Promise<void> => {
  if (!isProcessAlive(identity)) return;
  signalProcess(identity, 'SIGTERM');
  if (await waitUntilGone(identity, politeMs)) return;
  signalProcess(identity, 'SIGKILL');
  if (!(await waitUntilGone(identity, 5_000))) throw new Error(`Process ${pidOf(identity)} does not end.`);
};
