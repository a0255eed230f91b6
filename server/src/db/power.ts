/** Moving the power of an allocation, with the from-states in the `where`, and what a reinstallation is made of. */
import type { POWER_STATES } from '@gpuaas/contract';
import type { Reader, Tx } from './client.ts';
import { CURRENT_VERSION } from './os-image.ts';
import { statement } from './statement.ts';

export type PowerState = (typeof POWER_STATES)[number];

export type PowerMove = Readonly<{
  id: string;
  from: readonly PowerState[];
  to: PowerState;
  reason: string | null;
  /** The run that is at it until it is moved again; null when it comes to rest. */
  run_id: string | null;
  grace_s: number | null;
}>;

const MOVE_POWER = statement(
  { id: 'text', from: 'text[]', to: 'text', reason: 'text | null', run_id: 'text | null', grace_s: 'integer | null' },
  `update allocations set power_state = :to, power_reason = :reason, power_run_id = :run_id, power_grace_s = :grace_s,
     power_since = clock_timestamp(), version = version + 1
   where id = :id and state = 'active' and power_state = any (:from)`,
);

/** True when it was in one of the from-states and is now in the new one. */
export const movePower = async (tx: Tx, move: PowerMove): Promise<boolean> =>
  (await MOVE_POWER.query(tx, move)).rowCount === 1;

export type Image = Readonly<{ name: string; digest: string }>;
export type ReinstallFacts = Readonly<{ image: Image | null; ssh_keys_found: number }>;

/** The newest version of an image that runs on the SKU, and how many of the keys are the caller's. */
export const findReinstallFacts = async (
  reader: Reader,
  asked: Readonly<{ sku_name: string; image_name: string | null; ssh_key_ids: readonly string[] }>,
): Promise<ReinstallFacts> => {
  const { rows } = await reader.query<ReinstallFacts>(
    `select (select json_build_object('name', i.name, 'digest', c.digest) from os_images i
         join os_image_skus x on x.image_name = i.name and x.sku_name = $1
         cross join lateral (${CURRENT_VERSION}) c where i.name = $2) as image,
       (select count(*) from ssh_keys s where s.id = any ($3)) as ssh_keys_found`,
    [asked.sku_name, asked.image_name, asked.ssh_key_ids],
  );
  return rows[0] ?? { image: null, ssh_keys_found: 0 };
};
