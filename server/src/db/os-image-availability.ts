/** Where a version of an image can be fetched, see `0062_image_availability.sql`. Hosts show it; a launch reads it. */
import type { TaskKind } from '@gpuaas/contract/node';
import type { Reader, Tx } from './client.ts';
import { CURRENT_VERSION } from './os-image.ts';
import { agentIsSeen, NODE_OVER, TASK_OPEN } from './predicates.ts';

/** The host has these images or has just fetched them. What is known already is not written again. */
export const noteImagesAvailable = async (tx: Tx, nodeId: string, digests: readonly string[]): Promise<void> => {
  if (digests.length === 0) return;
  await tx.query(
    `insert into os_image_availability as a (image_name, digest, region_name, node_id, available_since)
     select v.image_name, v.digest, n.region_name, n.id, clock_timestamp() from os_image_versions v, nodes n
     where n.id = $1 and not n.state ${NODE_OVER} and v.digest = any ($2) and v.retired_at is null
       and not exists (select from os_image_availability k left join nodes o on o.id = k.node_id
         where k.image_name = v.image_name and k.digest = v.digest and k.region_name = n.region_name
           and k.available_since is not null and k.failed_at is null and (o.id is null or not o.state ${NODE_OVER}))
     order by v.image_name, v.digest
     on conflict (image_name, digest, region_name) do update set node_id = excluded.node_id,
       available_since = coalesce(a.available_since, excluded.available_since), failed_at = null, failure = null`,
    [nodeId, digests],
  );
};

/**
 * The host could not fetch it. `withdraws`: the failure is about the image or its source, so it is not available any more
 * unless another host of the region has it.
 */
export const noteImageFailed = async (
  tx: Tx,
  failed: Readonly<{ node_id: string; digest: string; failure: string; withdraws: boolean }>,
): Promise<void> => {
  await tx.query(
    `insert into os_image_availability as a (image_name, digest, region_name, node_id, failed_at, failure, available_since)
     select v.image_name, v.digest, n.region_name, n.id, clock_timestamp(), $3,
       case when exists (select from node_inventories i join nodes o on o.id = i.node_id
         where o.region_name = n.region_name and o.id <> n.id and not o.state ${NODE_OVER}
           and i.content @> jsonb_build_object('images', jsonb_build_object('value',
             jsonb_build_array(jsonb_build_object('digest', v.digest))))) then clock_timestamp() end
     from os_image_versions v, nodes n where n.id = $1 and v.digest = $2 and v.retired_at is null order by v.image_name
     on conflict (image_name, digest, region_name) do update set failed_at = excluded.failed_at, failure = excluded.failure,
       node_id = case when excluded.available_since is null and ($4 or a.available_since is null)
         then excluded.node_id else a.node_id end,
       available_since = case when excluded.available_since is null and $4 then null
         else coalesce(a.available_since, excluded.available_since) end`,
    [failed.node_id, failed.digest, failed.failure, failed.withdraws],
  );
};

export type ImageToFetch = Readonly<{ image_name: string; digest: string; region_name: string; node_id: string }>;

const PULL = 'image.pull' satisfies TaskKind;

/**
 * Stable and verified images that no host of an enabled region has shown, each with a host of the region to ask: the one
 * that failed last only where there is no other. One that failed is tried again after a while.
 */
export const listImagesToFetch = async (reader: Reader, retryMin: number): Promise<ImageToFetch[]> =>
  (
    await reader.query<ImageToFetch>(
      `select i.name as image_name, c.digest, r.name as region_name, h.id as node_id
       from os_images i cross join lateral (${CURRENT_VERSION}) c cross join regions r
         left join os_image_availability a on a.image_name = i.name and a.digest = c.digest and a.region_name = r.name
         left join nodes o on o.id = a.node_id
         cross join lateral (select n.id from nodes n join node_agents g on g.node_id = n.id and ${agentIsSeen('g')}
           where n.region_name = r.name and n.state = 'active' and '${PULL}' = any (g.kinds)
           order by n.id is not distinct from a.node_id, n.id limit 1) h
       where i.retired_at is null and i.channel = 'stable' and i.trust = 'verified' and r.enabled and r.retired_at is null
         and (a.available_since is null or o.state ${NODE_OVER})
         and (a.failed_at is null or a.failed_at < clock_timestamp() - make_interval(mins => $1))
         and not exists (select from node_tasks t join nodes m on m.id = t.node_id and m.region_name = r.name
           where t.kind = '${PULL}' and t.state ${TASK_OPEN} and t.params -> 'image' ->> 'digest' = c.digest)
       order by 1, 3`,
      [retryMin],
    )
  ).rows;
