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
