/** Pools: which nodes serve which organizations. */
import { mintId } from '@gpuaas/kit';
import type { Reader, Tx } from './client.ts';

export const findPoolId = async (reader: Reader, name: string): Promise<string | undefined> =>
  (await reader.query<{ id: string }>('select id from pools where name = $1', [name])).rows[0]?.id;

/** The shared pool; created when the first node needs it. */
export const ensureSharedPool = async (tx: Tx): Promise<void> => {
  await tx.query("insert into pools (id, name) values ($1, 'shared') on conflict (name) do nothing", [mintId('pol')]);
};
