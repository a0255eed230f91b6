/** What applies to the hosts of a node: its private network, and the rules of its region. */
import type { WipeLevel } from '@gpuaas/contract/node';
import type { Reader } from './client.ts';
import type { Regions } from './types.gen.ts';

/** The network behind the node's NAT that slices get addresses of. */
export const findPrivateNetwork = async (reader: Reader, id: string): Promise<string> =>
  (await reader.query<{ network: string }>('select private_network::text as network from nodes where id = $1', [id]))
    .rows[0]?.network ?? '';

/** The minimum wipe level of the node's region. */
export const findWipeMinimum = async (reader: Reader, id: string): Promise<WipeLevel> => {
  const { rows } = await reader.query<{ wipe_minimum: WipeLevel }>(
    'select r.wipe_minimum from regions r join nodes n on n.region_name = r.name where n.id = $1',
    [id],
  );
  // Without a region nothing is known, so the strongest level counts.
  return rows[0]?.wipe_minimum ?? 'purge';
};

/** The fabric provider of the node's region. Without a region nothing isolates. */
export const findFabricIsolation = async (reader: Reader, id: string): Promise<Regions['fabric_isolation']> =>
  (
    await reader.query<Pick<Regions, 'fabric_isolation'>>(
      'select r.fabric_isolation from regions r join nodes n on n.region_name = r.name where n.id = $1',
      [id],
    )
  ).rows[0]?.fabric_isolation ?? 'none';
