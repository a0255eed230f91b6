import type { Reader } from '../../server/src/db/client.ts';
import { PLATFORM } from '../../server/src/db/client.ts';
import { INVARIANTS, listViolations } from '../../server/src/db/invariant.ts';
import { listAllocations } from '../../server/src/db/allocation.ts';
import { purgeExpired } from '../../server/src/reconcilers/purge-expired.ts';
import { fillHistory } from '../growth/history.ts';
import { tenant, withFleet } from '../placement/fleet.ts';
const out = (text: string) => process.stdout.write(`${text}\n`);
const explaining = (reader: Reader, min = 0): Reader => ({
  query: async (text, values) => {
    if (text.includes('set_config')) return reader.query(text, values);
    const { rows } = await reader.query<Record<string, string>>(`explain (analyze, buffers) ${text}`, values);
    out(rows.map((r) => r['QUERY PLAN']).join('\n'));
    return { rows: [], rowCount: 0 };
  },
});
await withFleet(1000, async ({ database, url }) => {
  const t0 = performance.now();
  await fillHistory(url, { nodes: 1000, days: 730, per_day: Number(process.env['PER_DAY'] ?? 40) });
  out(`filled in ${performance.now() - t0}`);
  const one = (): Promise<void> => purgeExpired({
    database: { ...database, write: (s, fn) => database.write(s, (tx) => fn({ ...tx, query: async (text: string, v?: readonly unknown[]) => {
      const a = performance.now(); const r = await tx.query(text, v); const ms = performance.now() - a;
      if (ms > 8) out(`${ms.toFixed(1)} ms  rows ${r.rowCount} ${text.replace(/\s+/g, ' ').slice(0, 100)}`); return r as never; } })) },
    history_days: 90, certificate_years: 7 });
  for (let i = 0; i < 14; i++) { const a = performance.now(); await one(); out(`--- turn ${(performance.now() - a).toFixed(0)} ms`); }
  const b = tenant(0);
  for (let i = 0; i < 2; i++)
  await database.read({ tenant_id: b.organization_id, principal_id: 'usr_bench' }, (r) => listAllocations(explaining(r), { project_id: b.project_id, organization_id: null, node_id: null, state: null, name: null, before: null, limit: 11 }));
  for (const inv of INVARIANTS) {
    let ms = 1e9;
    for (let i = 0; i < 3; i++) { const a = performance.now(); await database.read(PLATFORM, (r) => listViolations(r, inv)); ms = Math.min(ms, performance.now() - a); }
    out(`INV ${inv.name} ${ms.toFixed(1)}`);
    if (ms > 40) await database.read(PLATFORM, (r) => listViolations(explaining(r), inv)).catch((e) => out(String(e)));
  }
});
