/**
 * Holds the hosts when the database is older than the signed heads of its audit log. A head is written only for rows that
 * were committed, so a head beyond the end of its chain means that commits are gone: a backup was restored, or a failover
 * lost changes. Hosts may hold data of later tenants then. Every node is held as by `restore begin`; credentials are left
 * to the operator, who knows the time of the backup. Heads that a crash left unrecorded are within their chains.
 */
import { randomUUID } from 'node:crypto';
import { ID_PREFIXES } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import { insertSystemAudit } from '../db/audit.ts';
import { getSealer, listChainEnds, moveHeadsEnd } from '../db/audit-seal.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { hasNodesToHold, holdNodes } from '../db/statements/restore.ts';
import { PLATFORM_CHAIN } from '../domain/audit-chain.ts';
import { type IdentityChange, lostIdentityChanges } from '../domain/identity-change.ts';
import { REASONS } from '../domain/reasons.ts';
import { IDENTITY_CHANGES_MAX } from '../domain/restore.ts';
import type { HeadsFile } from '../ports/objects/heads-file.ts';
import type { IdentityFile } from '../ports/objects/identity-file.ts';

export type HoldDeps = Readonly<{
  database: Database;
  heads: HeadsFile;
  identities?: IdentityFile<IdentityChange> | undefined;
}>;

/** The highest signed head of each chain behind this line. */
const headsBehind = async (heads: HeadsFile, line: number): Promise<Map<string, number>> => {
  const found = new Map<string, number>();
  for await (const { head, isSigned } of heads.lines())
    if (head !== null && head.line > line && isSigned())
      found.set(head.chain, Math.max(head.sequence, found.get(head.chain) ?? 0));
  return found;
};

/** The caller has the lock of the heads file. True when the nodes are held now. */
export const holdRestored = async ({ database, heads, identities }: HoldDeps): Promise<boolean> => {
  const end = await heads.end();
  const { heads_line } = await database.read(PLATFORM, getSealer);
  if (end === null || end.line <= heads_line) return false;
  const written = await headsBehind(heads, heads_line);
  const changes = (await identities?.read()) ?? [];
  return database.write(PLATFORM, async (tx) => {
    // Read after the file: what a head covers was committed before the head was written.
    const ends = await listChainEnds(tx, [...written.keys()]);
    const sealed = new Map(ends.map(({ chain, sequence }) => [chain, sequence]));
    const lost_changes = [...written].flatMap(([chain, sequence]) => {
      const audit_rows = sequence - (sealed.get(chain) ?? 0);
      return audit_rows > 0 ? [{ organization_id: chain === PLATFORM_CHAIN ? null : chain, audit_rows }] : [];
    });
    if (lost_changes.length === 0 || !(await hasNodesToHold(tx))) return false;
    const id = mintId(ID_PREFIXES.restore);
    const correlation_id = `c-${randomUUID()}`;
    const identity_changes = lostIdentityChanges(
      changes.filter(({ chain }) => written.has(chain)),
      sealed,
    )
      .slice(-IDENTITY_CHANGES_MAX)
      .map(({ chain: _, sequence: __, ...change }) => change);
    await holdNodes(tx, { id, reason: REASONS.database_behind, lost_changes, identity_changes, correlation_id });
    // These lines are dealt with: the next start must not hold nodes that an operator has released since.
    await moveHeadsEnd(tx, end);
    await insertSystemAudit(tx, {
      ...{ organization_id: null, project_id: null },
      ...{ action: 'restore.hold', target_kind: 'restore', target_id: id },
      ...{ policy: 'the database is older than the signed heads of its audit log', correlation_id },
      metadata: { lost_changes },
    });
    return true;
  });
};
