/** Refusals for actions that need more than one request. */
import { type Allocation, ENDED_ALLOCATION_STATES } from '@gpuaas/sdk';

const ENDED: readonly Allocation['state'][] = ['releasing', ...ENDED_ALLOCATION_STATES];

type Facts = Pick<Allocation, 'is_protected' | 'state'>;
/** Refusals of the two actions and of the role; null where there is none. */
type Refusals = Readonly<{ release: string | null; update: string | null; role: string | null }>;

/** Protection alone does not block: the dialog asks for the name and removes protection first, as a separate step. */
export const releaseRefusal = ({ is_protected, state }: Facts, { release, update, role }: Refusals): string | null =>
  is_protected && release !== null && role === null && !ENDED.includes(state) ? update : release;
