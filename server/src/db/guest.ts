/** What a guest is made from beside its slots: its image and whose keys open it. */
import type { Reader } from './client.ts';

export type GuestFacts = Readonly<{
  image: Readonly<{ name: string; digest: string }> | undefined;
  ssh_public_keys: readonly string[];
}>;

/** Without a wish for an image it is the first that the SKU takes. */
export const findGuestFacts = async (
  reader: Reader,
  allocation: Readonly<{ image_name: string | null; sku_name: string; ssh_key_ids: readonly string[] }>,
): Promise<GuestFacts> => {
  const { rows } = await reader.query<{ name: string | null; digest: string | null; keys: string[] | null }>(
    `select i.name, i.digest, (select array_agg(k.public_key order by k.id) from ssh_keys k where k.id = any ($3)) as keys
     from (values (1)) as one left join lateral (
       select o.name, o.digest from os_images o
       where o.name = $1 or ($1::text is null and o.enabled
         and exists (select from os_image_skus s where s.image_name = o.name and s.sku_name = $2))
       order by o.name limit 1) i on true`,
    [allocation.image_name, allocation.sku_name, allocation.ssh_key_ids],
  );
  const { name = null, digest = null, keys = null } = rows[0] ?? {};
  return {
    image: name === null || digest === null ? undefined : { name, digest },
    ssh_public_keys: keys ?? [],
  };
};

export type SshFacts = Readonly<{ address: string; host_key: string }>;

/** As the machine was last seen ready. */
export const findSshFacts = async (reader: Reader, allocationId: string): Promise<SshFacts | undefined> =>
  (
    await reader.query<SshFacts>(
      `select t.output ->> 'actual_ip' as address, t.output ->> 'ssh_host_key' as host_key from node_tasks t
       where t.allocation_id = $1 and t.kind = 'slice.vm_readiness' and t.state = 'completed'
         and t.output ->> 'actual_ip' is not null and t.output ->> 'ssh_host_key' is not null
       order by t.attempt desc limit 1`,
      [allocationId],
    )
  ).rows[0];
