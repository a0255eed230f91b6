/** What may be done with an allocation from its page, or why not, where the page does more than one request for it. */
import type { Allocation } from '@gpuaas/sdk';

const OVER: Readonly<Partial<Record<Allocation['state'], string>>> = {
  released: 'It is released.',
  failed: 'It has failed and is cleaned up by itself.',
  releasing: 'It is being released.',
};

type Facts = Pick<Allocation, 'is_protected' | 'state'>;
/** What `actions` say of the two, and why the role may not release; null where nothing is in the way. */
type Refusals = Readonly<{ release: string | null; update: string | null; role: string | null }>;

/**
 * Protection alone is no reason here: the dialog asks for the name and takes it off first, as a step of its own that is
 * said.
 */
export const releaseRefusal = ({ is_protected, state }: Facts, { release, update, role }: Refusals): string | null =>
  release === null || !is_protected ? release : (role ?? OVER[state] ?? update);

export const isLive = ({ state }: Pick<Allocation, 'state'>): boolean => state !== 'released' && state !== 'failed';

/** The launch form filled as this one was; its name only where that is free again. */
export const launchSearch = (allocation: Allocation): Record<string, string> => {
  const { capacity_shape, sku_name, region_name, gpu_count, image_name, placement } = allocation;
  const { ssh_key_ids, max_duration_s, tags, is_protected, name } = allocation;
  const filled: Readonly<Record<string, string | null>> = {
    shape: capacity_shape,
    sku: sku_name,
    region: region_name,
    gpus: String(gpu_count),
    image: image_name,
    profile: placement.vm_profile,
    // None is a word there: without any the form takes all keys that one has.
    keys: ssh_key_ids.length === 0 ? 'none' : ssh_key_ids.join(','),
    hours: max_duration_s === null ? null : String(Number((max_duration_s / 3600).toFixed(4))),
    tags: Object.entries(tags)
      .map(([key, value]) => `${key}=${value}`)
      .join(','),
    protected: is_protected ? '1' : null,
    name: isLive(allocation) ? null : name,
  };
  return Object.fromEntries(
    Object.entries(filled).filter((entry): entry is [string, string] => entry[1] !== null && entry[1] !== ''),
  );
};
