/** What a new node needs beside its row: the pool it belongs to, its region, its network. */
import { mintId } from '@gpuaas/kit';
import type { Reader, Tx } from './client.ts';

export const findPoolId = async (reader: Reader, name: string): Promise<string | undefined> =>
  (await reader.query<{ id: string }>('select id from pools where name = $1', [name])).rows[0]?.id;

/** The pool of everyone; made when the first node needs it. */
export const ensureSharedPool = async (tx: Tx): Promise<void> => {
  await tx.query("insert into pools (id, name) values ($1, 'shared') on conflict (name) do nothing", [mintId('pol')]);
};

export const isRegion = async (reader: Reader, name: string): Promise<boolean> =>
  (await reader.query('select 1 as one from regions where name = $1', [name])).rowCount === 1;

export const setPrivateNetwork = async (tx: Tx, nodeId: string, network: string): Promise<void> => {
  await tx.query('update nodes set private_network = $2::cidr where id = $1', [nodeId, network]);
};
