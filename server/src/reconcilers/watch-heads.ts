/**
 * Compares the signed heads outside the database with the database. A failover to a replica that was behind, or a restore,
 * loses committed changes; the heads that cover them remain. They are ahead of the last line that the database has recorded,
 * and their seals are missing. What is lost is recorded before the next head is written, because then the lines are no longer
 * ahead.
 */
import { randomUUID } from 'node:crypto';
import { insertSystemAudit } from '../db/audit.ts';
import { getSealer, listLostHeads, recordLostRows } from '../db/audit-seal.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import type { HeadsFile, NewHead } from '../ports/objects/heads-file.ts';
import type { FileCall } from './file-work.ts';

/** Of each chain the highest head after this line. */
const readAhead = async (heads: HeadsFile, after: number): Promise<readonly NewHead[]> => {
  const highest = new Map<string, NewHead>();
  for await (const line of heads.lines()) {
    const { head } = line;
    if (head === null || head.line <= after || head.sequence <= (highest.get(head.chain)?.sequence ?? 0)) continue;
    if (line.isSigned()) highest.set(head.chain, head);
  }
  return [...highest.values()];
};

/** Under the lock of the one who writes heads. */
export const reportLostHeads = async (database: Database, heads: HeadsFile, call: FileCall): Promise<void> => {
  const state = await database.read(PLATFORM, getSealer);
  const end = await call(() => heads.lastLine());
  if (end <= Math.max(state.heads_line, state.lost_line)) return;
  const ahead = await call(() => readAhead(heads, state.heads_line));
  const lost = await database.read(PLATFORM, (reader) => listLostHeads(reader, ahead));
  if (lost.length === 0) return;
  const rows = lost.reduce((total, one) => total + one.rows, 0);
  await database.write(PLATFORM, async (tx) => {
    if (await recordLostRows(tx, rows, end))
      await insertSystemAudit(tx, {
        organization_id: null,
        project_id: null,
        action: 'audit_heads.lose',
        target_kind: 'audit_heads',
        target_id: String(end),
        policy: 'signed heads cover rows that the database does not have',
        correlation_id: `heads-${randomUUID()}`,
        metadata: { lost },
      });
  });
};
