/**
 * Releases of the agent: files of one directory, named by the SHA-256 of their bytes. A file with other bytes is not
 * served.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export type AgentReleases = Readonly<{
  /** Undefined when there is no such release, or the file does not match its name. */
  open(digest: string): Promise<Readonly<{ stream: Readable; size: number }> | undefined>;
}>;

const hashOf = async (file: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
};

export const createAgentReleases = (folder: string): AgentReleases => {
  /** Checked files, with their state at the check. */
  const checked = new Map<string, string>();
  return {
    open: async (digest) => {
      const name = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1];
      if (name === undefined) return undefined;
      const file = join(folder, name);
      const found = await stat(file).catch(() => undefined);
      if (found?.isFile() !== true) return undefined;
      const mark = `${found.ino}:${found.size}:${found.mtimeMs}`;
      if (checked.get(name) !== mark) {
        if ((await hashOf(file)) !== name) return undefined;
        checked.set(name, mark);
      }
      return { stream: createReadStream(file), size: found.size };
    },
  };
};
