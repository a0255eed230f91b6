/**
 * `agent.update`: another version of this agent, named by the digest of its bytes. The new version is written beside
 * the current one, `current` is swapped in one rename, and the process ends so that the service starts the new one. The
 * launcher, which no update changes, counts the starts: even a version that cannot be parsed is rolled back. The task
 * stays begun in the journal over the restart, and the version that runs then reports its result.
 *
 *   <home>/versions/<sha256>/gpuaas-node-agent.mjs
 *   <home>/current -> versions/<sha256>
 *   <home>/update/pending      the earlier version, while the new one has not reached the control plane
 *   <home>/update/starts       how often the new one was started
 *   <home>/update/rolled-back  the version that failed
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readlink, rename, rm, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pause } from '@gpuaas/kit';
import { readIfThere, syncFolder, writeDurably } from './control-plane/durable.ts';
import { ControlPlaneError } from './control-plane/errors.ts';
import { HostError } from './host/host.ts';
import type { TaskContext, TaskHandler } from './tasks/task.ts';

export const BUNDLE_NAME = 'gpuaas-node-agent.mjs';
/** sysexits: "try again"; the service restarts on it and does not count it as a failure. */
export const RESTART_EXIT_CODE = 75;
/** How long a new version may take to reach the control plane before it is started again. */
const REACH_MS = 5 * 60_000;
const RELEASE_MAX = 64 * 1024 * 1024;

export type Updater = Readonly<{
  handler: TaskHandler<'agent.update'>;
  /** The control plane was reached: this version stays. */
  confirm(): Promise<void>;
  /** A new version that does not reach the control plane in time ends itself, so that its starts are counted. */
  watch(signal: AbortSignal): Promise<void>;
}>;

export type UpdaterOptions = Readonly<{
  home: string;
  version: string;
  /** The bytes of a release, in chunks. */
  download: (digest: string, signal: AbortSignal) => Promise<AsyncIterable<Buffer>>;
  /** Ends this process so that the service starts the current version. */
  restart: (reason: string) => void;
  reach_ms?: number;
}>;

export const createUpdater = (options: UpdaterOptions): Updater => {
  const versions = join(options.home, 'versions');
  const current = join(options.home, 'current');
  const file = (name: 'pending' | 'starts' | 'rolled-back'): string => join(options.home, 'update', name);
  const confirmed = Promise.withResolvers<void>();

  const currentVersion = async (): Promise<string> => {
    try {
      return basename(await readlink(current));
    } catch (err) {
      throw new HostError(
        'unsupported',
        `This agent has no versioned installation (${current}), so it cannot update.`,
        {
          cause: err,
        },
      );
    }
  };

  const fetchInto = async (folder: string, sha256: string, ctx: TaskContext): Promise<void> => {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const path = join(folder, BUNDLE_NAME);
    const beside = `${path}.new`;
    const hash = createHash('sha256');
    let size = 0;
    const handle = await open(beside, 'w', 0o644);
    try {
      for await (const part of await options.download(`sha256:${sha256}`, ctx.signal)) {
        size += part.length;
        if (size > RELEASE_MAX) throw new HostError('blocked', 'The release exceeds the size limit.');
        hash.update(part);
        await handle.writeFile(part);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    const found = hash.digest('hex');
    if (found !== sha256) {
      await rm(beside, { force: true });
      throw new HostError('blocked', `The downloaded release has digest sha256:${found}; nothing was installed.`);
    }
    await rename(beside, path);
    await syncFolder(folder);
  };

  const swap = async (to: string): Promise<void> => {
    const beside = `${current}.new`;
    await rm(beside, { force: true });
    await symlink(join('versions', to), beside);
    await rename(beside, current);
    await syncFolder(options.home);
  };

  const install = async (sha256: string, before: string, ctx: TaskContext): Promise<void> => {
    try {
      await fetchInto(join(versions, sha256), sha256, ctx);
      await rm(file('rolled-back'), { force: true });
      await rm(file('starts'), { force: true });
      await writeDurably(file('pending'), `${before}\n`, 0o644);
      await swap(sha256);
    } catch (err) {
      if (err instanceof HostError) throw err;
      if (err instanceof ControlPlaneError)
        throw new HostError('host_error', `The release could not be downloaded: ${err.message}`, { cause: err });
      const code = (err as NodeJS.ErrnoException).code;
      throw new HostError(
        code === 'ENOSPC' ? 'no_space' : 'host_error',
        `The release could not be installed: ${String(err)}`,
        { cause: err },
      );
    }
  };

  const untilAborted = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => {
      const end = (): void => reject(signal.reason as Error);
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });

  return {
    handler: async (ctx, { digest }) => {
      const sha256 = digest.slice('sha256:'.length);
      const before = await currentVersion();
      if (before === sha256) {
        // Either this is the new version after its restart, or there is nothing to do. Both end when the control plane
        // is reached.
        await Promise.race([confirmed.promise, untilAborted(ctx.signal)]);
        return { version: options.version };
      }
      if ((await readIfThere(file('rolled-back')))?.trim() === sha256) {
        await rm(file('rolled-back'), { force: true });
        throw new HostError(
          'host_error',
          'The new version did not reach the control plane; the previous version is running.',
        );
      }
      await install(sha256, before, ctx);
      ctx.log.info({ digest }, 'installed the new version; restarting');
      options.restart('update');
      return untilAborted(ctx.signal);
    },
    confirm: async () => {
      await rm(file('pending'), { force: true });
      await rm(file('starts'), { force: true });
      confirmed.resolve();
    },
    watch: async (signal) => {
      if ((await readIfThere(file('pending'))) === undefined) return;
      const waiting = new AbortController();
      void confirmed.promise.then(() => waiting.abort());
      await pause(options.reach_ms ?? REACH_MS, AbortSignal.any([signal, waiting.signal]));
      if (!signal.aborted && !waiting.signal.aborted)
        options.restart('the new version did not reach the control plane');
    },
  };
};
