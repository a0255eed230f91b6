/**
 * Hosts for tests: six H200 hosts of one region in a shared pool, discovered and approved through the API as any other.
 * The layout is a real host's: four GPUs per NUMA node, module ids that do not follow the PCI bus, and NVIDIA's fifteen
 * fabric partitions.
 */
import { ID_PREFIXES } from '@gpuaas/contract';
import { PLATFORM } from '../src/db/client.ts';
import type { TestApp } from './app.ts';
import { candidate } from './candidate.ts';
import { anEnrolledNode, discover, discovery, proveFirstWipes } from './discovered.ts';
import type { NodeFacts, Sql } from './placement.ts';
import { must } from './tenants.ts';

const REGION = 'us-buffalo-1';
const MODES: readonly NodeFacts['capacity_mode'][] = ['slice', 'slice', 'slice', 'flexible', 'flexible', 'baremetal'];
const MODULE_IDS = [2, 4, 3, 1, 5, 7, 6, 8];

const demoId = (kind: 'node' | 'pool', number: number): string =>
  `${ID_PREFIXES[kind]}_${String(number).padStart(26, '0')}`;

export const seedFleet = async (app: TestApp): Promise<void> => {
  const { database } = app.db;
  const sql: Sql = { query: (text, values) => database.write(PLATFORM, (tx) => tx.query(text, values)) };
  const root = await app.admin();
  const pool_id = demoId('pool', 1);
  await sql.query("insert into pools (id, name) values ($1, 'shared')", [pool_id]);
  for (const [index, capacity_mode] of MODES.entries()) {
    const number = index + 1;
    const id = demoId('node', number);
    const name = `demo-h200-${String(number).padStart(2, '0')}`;
    await anEnrolledNode(database, sql, {
      id,
      name,
      region_name: REGION,
      pool_id,
      ...(capacity_mode && { capacity_mode }),
    });
    const slots = MODULE_IDS.map((module_id, slot) => candidate(slot, { module_id }, number));
    await discover(database, id, discovery(slots));
    const at = `/api/v1/admin/nodes/${id}`;
    const { map } = must(await root.get(`${at}/slice-topology/discovery`), 200).body;
    must(await root.post(`${at}/resource-slots/approve`, { map_hash: map.map_hash }), 200);
    await proveFirstWipes(database, id);
  }
};
