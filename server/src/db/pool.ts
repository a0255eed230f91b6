/** Pools: which nodes serve which organizations. */
import { mintId } from '@gpuaas/kit';
import type { Reader, Tx } from './client.ts';
import type { Page } from './page.ts';
import { claimIsLive } from './predicates.ts';
import type { Pools } from './types.gen.ts';

export type PoolRow = Readonly<
  Omit<Pools, 'is_live'> & {
    organization_name: string | null;
    /** Nodes that are not deleted. */
    node_count: number;
  }
>;
export type PoolValues = Readonly<Pick<PoolRow, 'name' | 'purpose' | 'organization_id'>>;

const POOL = `p.id, p.name, p.purpose, p.organization_id, o.name as organization_name, p.retired_at, p.version, p.created_at,
  (select count(*) from nodes n where n.pool_id = p.id and n.state <> 'deleted') as node_count
  from pools p left join organizations o on o.id = p.organization_id`;

export const listPools = async (reader: Reader, page: Page, includeRetired: boolean): Promise<PoolRow[]> =>
  (
    await reader.query<PoolRow>(
      `select ${POOL} where ($1::text is null or p.name > $1) and ($3 or p.retired_at is null) order by p.name limit $2`,
      [page.after, page.limit, includeRetired],
    )
  ).rows;

/** Also a retired one. */
export const findPool = async (reader: Reader, name: string): Promise<PoolRow | undefined> =>
  (await reader.query<PoolRow>(`select ${POOL} where p.name = $1`, [name])).rows[0];

/** Keeps nodes from being added until the commit. */
export const lockPool = async (tx: Tx, name: string): Promise<PoolRow | undefined> => {
  await tx.query('select from pools where name = $1 for update', [name]);
  return findPool(tx, name);
};

export type NodePool = Readonly<Pick<Pools, 'id' | 'name' | 'organization_id'>>;

/** A pool for a node: it is neither retired nor given to another organization before the commit. */
export const shareLivePool = async (tx: Tx, name: string): Promise<NodePool | undefined> =>
  (
    await tx.query<NodePool>(
      'select id, name, organization_id from pools where name = $1 and retired_at is null for share',
      [name],
    )
  ).rows[0];

/** The shared pool; created when the first node needs it. */
export const ensureSharedPool = async (tx: Tx): Promise<void> => {
  await tx.query("insert into pools (id, name) values ($1, 'shared') on conflict (name) do nothing", [mintId('pol')]);
};

/** False where a pool of this name is in use; a retired one comes back with these values. */
export const insertPool = async (tx: Tx, row: PoolValues): Promise<boolean> =>
  (
    await tx.query(
      `insert into pools as p (id, name, purpose, organization_id) values ($1, $2, $3, $4)
       on conflict (name) do update set purpose = excluded.purpose, organization_id = excluded.organization_id, retired_at = null,
         version = p.version + 1 where p.retired_at is not null`,
      [mintId('pol'), row.name, row.purpose, row.organization_id],
    )
  ).rowCount === 1;

export const updatePool = async (tx: Tx, version: number, row: PoolValues): Promise<boolean> =>
  (
    await tx.query(
      `update pools set purpose = $3, organization_id = $4, version = version + 1 where name = $1 and version = $2 and retired_at is null`,
      [row.name, version, row.purpose, row.organization_id],
    )
  ).rowCount === 1;

export const retirePool = async (tx: Tx, name: string): Promise<void> => {
  await tx.query('update pools set retired_at = clock_timestamp(), version = version + 1 where name = $1', [name]);
};

/** Allocations of organizations other than this one with live claims on the node. */
export const listForeignClaims = async (
  reader: Reader,
  nodeId: string,
  organizationId: string,
): Promise<{ allocation_id: string; organization_id: string }[]> =>
  (
    await reader.query<{ allocation_id: string; organization_id: string }>(
      `select distinct c.allocation_id, c.organization_id from allocation_resource_claims c
       where c.node_id = $1 and ${claimIsLive('c')} and c.organization_id <> $2 order by 1`,
      [nodeId, organizationId],
    )
  ).rows;
