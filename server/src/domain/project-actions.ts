/**
 * Whether a project may be deleted, or why not. Its resources must end first: a deleted project has no path, so its
 * allocations could no longer be released nor its credentials revoked. An allocation counts until it is
 * released, claimed or not; a failed one until its last claim is released, because until then its disks hold the
 * tenant's data; and any until its last run and session have ended.
 */
import { firstOf, type Refusal, refused } from './refusal.ts';

export type ProjectHoldings = Readonly<{
  service_accounts: number;
  /** Names of allocations that have not ended, or have unreleased claims, live runs or open sessions; sorted. */
  allocations: readonly string[];
}>;

export const NOTHING_CLAIMED: ProjectHoldings = { service_accounts: 0, allocations: [] };

const NAMED_MAX = 3;

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const them = (count: number): string => (count === 1 ? 'it' : 'them');

const named = (names: readonly string[]): string => {
  const rest = names.length - NAMED_MAX;
  return [...names.slice(0, NAMED_MAX), ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
};

export const projectDeleteRefusal = ({ service_accounts, allocations }: ProjectHoldings): Refusal | null =>
  firstOf(
    allocations.length > 0 &&
      refused(
        `The project holds ${counted(allocations.length, 'allocation')} (${named(allocations)}). Release ${them(allocations.length)} and wait for the cleanup.`,
      ),
    service_accounts > 0 &&
      refused(
        `The project holds ${counted(service_accounts, 'service account')}. Delete ${them(service_accounts)} first.`,
      ),
  );
