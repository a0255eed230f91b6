/** The hosts that nodes are bound to. The live row of a node has no end; a retired node has none. */
import type { HostField, HostIdentity } from '../domain/host-identity.ts';
import type { Reader, Tx } from './client.ts';
import { statement } from './statement.ts';

export type NodeHostRow = HostIdentity & Readonly<{ named: HostField[]; bound_at: string | null }>;

export type NodeHostView = HostIdentity & Readonly<{ state: 'unbound' | 'named' | 'bound'; bound_at: string | null }>;

/** As operators see it, of the live row h or none. */
export const NODE_HOST = `jsonb_build_object('state', case when h.node_id is null then 'unbound' when h.bound_at is null then 'named' else 'bound' end,
  'product_serial', h.product_serial, 'product_uuid', h.product_uuid, 'machine_id', h.machine_id,
  'bound_at', to_char(h.bound_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as host`;

/** Held while hosts are compared and written, so that of two nodes for one host the later sees the earlier. */
const HOSTS_LOCK = 4_752_033;

/** Taken last of a transaction's locks. */
export const lockHosts = async (tx: Tx): Promise<void> => {
  await tx.query('select pg_advisory_xact_lock($1)', [HOSTS_LOCK]);
};

export const findHost = async (reader: Reader, nodeId: string): Promise<NodeHostRow | undefined> =>
  (
    await reader.query<NodeHostRow>(
      'select product_serial, product_uuid, machine_id, named, bound_at from node_hosts where node_id = $1 and ended_at is null',
      [nodeId],
    )
  ).rows[0];

export type HostOwner = Readonly<{ node_id: string; name: string; fields: HostField[] }>;

/** Other live nodes with a value of this host. */
export const listHostOwners = async (reader: Reader, nodeId: string, host: HostIdentity): Promise<HostOwner[]> =>
  (
    await reader.query<HostOwner>(
      `select h.node_id, n.name, array_remove(array[case when h.product_serial = $2 then 'product_serial' end,
         case when h.product_uuid = $3 then 'product_uuid' end, case when h.machine_id = $4 then 'machine_id' end], null) as fields
       from node_hosts h join nodes n on n.id = h.node_id
       where h.ended_at is null and h.node_id <> $1 and (h.product_serial = $2 or h.product_uuid = $3 or h.machine_id = $4)
       order by h.node_id`,
      [nodeId, host.product_serial, host.product_uuid, host.machine_id],
    )
  ).rows;

const PUT_HOST = statement(
  {
    node_id: 'text',
    product_serial: 'text | null',
    product_uuid: 'text | null',
    machine_id: 'text | null',
    named: 'text[]',
    is_bound: 'boolean',
  },
  `insert into node_hosts as h (node_id, product_serial, product_uuid, machine_id, named, bound_at)
   values (:node_id, :product_serial, :product_uuid, :machine_id, :named, case when :is_bound then clock_timestamp() end)
   on conflict (node_id) where ended_at is null do update set product_serial = excluded.product_serial,
     product_uuid = excluded.product_uuid, machine_id = excluded.machine_id, named = excluded.named,
     bound_at = coalesce(h.bound_at, excluded.bound_at)`,
);

export const putHost = async (
  tx: Tx,
  row: HostIdentity & Readonly<{ node_id: string; named: readonly HostField[]; is_bound: boolean }>,
): Promise<void> => {
  await PUT_HOST.query(tx, row);
};

/** False when the node had no host. */
export const endHost = async (tx: Tx, nodeId: string, reason: string): Promise<boolean> =>
  (
    await tx.query(
      'update node_hosts set ended_at = clock_timestamp(), ended_reason = $2 where node_id = $1 and ended_at is null',
      [nodeId, reason],
    )
  ).rowCount === 1;
