/**
 * Whether a project may be deleted, or why not. What the project holds must end first: a deleted project is reached by
 * no path, so nobody could release its allocations or revoke its credentials any more. An allocation counts until its
 * last claim is released, whatever its state: until then its disks hold the tenant's data.
 */
import { firstOf, type Refusal, refused } from './refusal.ts';

export type ProjectHoldings = Readonly<{
  service_accounts: number;
  /** Names of the allocations with unreleased claims, in order. */
  allocations: readonly string[];
}>;

export const NOTHING_HELD: ProjectHoldings = { service_accounts: 0, allocations: [] };

const NAMED_MAX = 3;

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const named = (names: readonly string[]): string => {
  const rest = names.length - NAMED_MAX;
  return [...names.slice(0, NAMED_MAX), ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
};

export const projectDeleteRefusal = ({ service_accounts, allocations }: ProjectHoldings): Refusal | null =>
  firstOf(
    allocations.length > 0 &&
      refused(
        `The project holds ${counted(allocations.length, 'allocation')} (${named(allocations)}); release them and wait for their cleanup.`,
      ),
    service_accounts > 0 &&
      refused(`The project holds ${counted(service_accounts, 'service account')}; delete them first.`),
  );
