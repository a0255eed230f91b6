/** When the destructive tasks of a node may be released after the database was restored. */
import { done, type Refusal, refused } from './refusal.ts';

/** Of one restore: more are in the file beside the heads. */
export const IDENTITY_CHANGES_MAX = 10_000;

/**
 * How long a comparison of the database with the heads outside it counts. Workers repeat it every two seconds. A database
 * that was exchanged is known by its name, whenever it was compared; this limit is for rows that were put back inside one.
 */
export const COMPARED_WITHIN_S = 300;

export type HeldFacts = Readonly<{ inventory_at: string | null; findings: number }>;

/** Undefined facts: nothing is held. */
export const releaseRefusal = (
  held: HeldFacts | undefined,
  { accepts_findings }: Readonly<{ accepts_findings: boolean }>,
): Refusal | null => {
  if (held === undefined) return done('No task of the node is held.');
  if (held.inventory_at === null)
    return refused('The host has sent no inventory report since the restore. Wait for one, and compare it first.');
  if (held.findings > 0 && !accepts_findings)
    return refused(
      `The host differs from the claims in ${held.findings} findings. Resolve them, or accept them explicitly.`,
    );
  return null;
};

/** Undefined facts: it was never charged. */
export const chargeEndRefusal = (usage: Readonly<{ is_node_held: boolean }> | undefined): Refusal | null => {
  if (usage === undefined) return refused('The allocation was never charged. Repeat the release without charge_until.');
  if (!usage.is_node_held)
    return refused(
      'The node is not held by a restore, so the database knows when the charge ends. Repeat the release without charge_until.',
    );
  return null;
};
