/**
 * Disks with their users and contents. `disk-use.ts` covers what the kernel knows; this file also queries the disks for
 * their contents and wipe abilities.
 */
import type { DiskFacts } from '@gpuaas/contract/node';
import { BLOCK, listUses, NVME } from './disk-use.ts';
import type { Files } from './files.ts';
import { eraseAbilityOf } from './nvme.ts';
import { outputOf, type Run } from './run.ts';
import { readLsblk, readSignatures } from './signatures.ts';

export const readErase = async (files: Files, run: Run, name: string): Promise<DiskFacts['erase']> => {
  try {
    const controller = NVME.exec(name)?.[1];
    const discard = Number((await files.find(`${BLOCK}/${name}/queue/discard_max_bytes`)) ?? 0) > 0;
    if (controller === undefined)
      return { value: { sanitize_crypto: false, sanitize_block: false, format: false, format_crypto: false, discard } };
    const text = await outputOf(run, {
      argv: ['nvme', 'id-ctrl', `/dev/${controller}`, '--output-format=json'],
      recorded: `nvme-id-ctrl-${controller}.json`,
    });
    return { value: { ...eraseAbilityOf(text), discard } };
  } catch (error) {
    return { unreadable: error instanceof Error ? error.message : String(error) };
  }
};

export const listDisks = async (files: Files, run: Run): Promise<readonly DiskFacts[]> => {
  const uses = await listUses(files);
  if (uses.length === 0) return [];
  const known = await readLsblk(run);
  return Promise.all(
    uses.map(async (use): Promise<DiskFacts> => {
      const [signatures, erase] = await Promise.all([
        readSignatures(files, run, use.name, [use.name, ...use.partitions], known),
        readErase(files, run, use.name),
      ]);
      const { partitions, ...rest } = use;
      return { ...rest, ...signatures, partitions, erase };
    }),
  );
};
