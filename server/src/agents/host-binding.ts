/**
 * Binds a node to the host of its agent. A node is for one host, and a live host has one node: what an operator named
 * must match, what was bound must stay the same, and a host of another live node is refused. The first host that holds
 * the token or the certificate of a node without a host becomes its host.
 */
import type { Tx } from '../db/client.ts';
import { findHost, type HostOwner, listHostOwners, lockHosts, putHost } from '../db/node-host.ts';
import {
  type HostField,
  type HostIdentity,
  hostMismatch,
  knownFields,
  learnHost,
  NO_IDENTITY,
  withoutMachineId,
} from '../domain/host-identity.ts';

export type HostRefusal = Readonly<{
  sentence: string;
  /** The field that differs; null if none can be compared. */
  field: HostField | null;
  /** The live node that has this host. For operators: the sentence does not name it. */
  owner: HostOwner | null;
}>;

const EMPTY: HostIdentity = { product_serial: null, product_uuid: null, machine_id: null };
const OWNED = 'Another node is registered for this host. An operator retires that node first; the audit log names it.';

const isSame = (a: HostIdentity, b: HostIdentity): boolean =>
  a.product_serial === b.product_serial && a.product_uuid === b.product_uuid && a.machine_id === b.machine_id;

/** The identity that the node may have, or the node that has it. */
const unowned = async (tx: Tx, nodeId: string, host: HostIdentity): Promise<HostIdentity | HostOwner> => {
  const owners = await listHostOwners(tx, nodeId, host);
  const [first] = owners;
  if (first === undefined) return host;
  const isCloned = owners.every(({ fields }) => fields.every((field) => field === 'machine_id'));
  return (isCloned ? withoutMachineId(host) : null) ?? first;
};

/**
 * Compares the reported host with that of the node and binds them; null when the node has this host now. The caller
 * holds the locks of the node.
 */
export const bindHost = async (tx: Tx, nodeId: string, reported: HostIdentity): Promise<HostRefusal | null> => {
  await lockHosts(tx);
  const stored = await findHost(tx, nodeId);
  if (stored === undefined && knownFields(reported).length === 0)
    return { sentence: NO_IDENTITY, field: null, owner: null };
  const wrong = stored === undefined ? null : hostMismatch({ host: stored, named: stored.named }, reported);
  if (wrong !== null) return { ...wrong, owner: null };
  const learned = learnHost(stored ?? EMPTY, reported);
  if (stored !== undefined && stored.bound_at !== null && isSame(stored, learned)) return null;
  const host = await unowned(tx, nodeId, learned);
  if ('node_id' in host) return { sentence: OWNED, field: host.fields[0] ?? null, owner: host };
  await putHost(tx, { node_id: nodeId, ...host, named: stored?.named ?? [], is_bound: true });
  return null;
};
