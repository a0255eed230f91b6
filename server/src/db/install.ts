/**
 * The wanted result of a reinstallation. It is stored separately until the image is on the boot disk, and is then the
 * running system.
 */
import type { BootKind } from '@gpuaas/contract/node';
import type { Reader, Tx } from './client.ts';
import { CURRENT_VERSION } from './os-image.ts';
import { statement } from './statement.ts';
import type { AllocationInstalls } from './types.gen.ts';

export type RequestedInstall = Readonly<
  Pick<AllocationInstalls, 'install_number' | 'image_name' | 'image_digest' | 'ssh_key_ids'> & {
    /** Null: none. */
    sealed_user_data: AllocationInstalls['sealed_user_data'];
  }
>;

type NewRequestedInstall = RequestedInstall &
  Readonly<{ allocation_id: string; organization_id: string; project_id: string; run_id: string }>;

const WANTED = 'i.install_number, i.image_name, i.image_digest, i.ssh_key_ids, i.sealed_user_data';

const PUT_WANTED_INSTALL = statement(
  {
    allocation_id: 'text',
    organization_id: 'text',
    project_id: 'text',
    run_id: 'text',
    install_number: 'integer',
    image_name: 'text | null',
    image_digest: 'text | null',
    ssh_key_ids: 'text[]',
    sealed_user_data: 'bytea | null',
  },
  `insert into allocation_installs
     (allocation_id, organization_id, project_id, run_id, install_number, image_name, image_digest, ssh_key_ids, sealed_user_data)
   values (:allocation_id, :organization_id, :project_id, :run_id, :install_number, :image_name, :image_digest, :ssh_key_ids, :sealed_user_data)
   on conflict (allocation_id) do update set run_id = excluded.run_id, install_number = excluded.install_number,
     image_name = excluded.image_name, image_digest = excluded.image_digest, ssh_key_ids = excluded.ssh_key_ids,
     sealed_user_data = excluded.sealed_user_data, created_at = clock_timestamp()`,
);

/** The unfinished request of an earlier run is discarded. */
export const putRequestedInstall = async (tx: Tx, wanted: NewRequestedInstall): Promise<void> => {
  await PUT_WANTED_INSTALL.query(tx, wanted);
};

/** Only of this run: another run has its own. */
export const findRequestedInstall = async (
  reader: Reader,
  allocationId: string,
  runId: string,
): Promise<RequestedInstall | undefined> =>
  (
    await reader.query<RequestedInstall>(
      `select ${WANTED} from allocation_installs i where i.allocation_id = $1 and i.run_id = $2`,
      [allocationId, runId],
    )
  ).rows[0];

export const removeRequestedInstall = async (tx: Tx, allocationId: string, runId: string): Promise<void> => {
  await tx.query('delete from allocation_installs where allocation_id = $1 and run_id = $2', [allocationId, runId]);
};

export type Image = Readonly<{ name: string; digest: string }>;

export type ReinstallFacts = Readonly<{
  image: (Image & Readonly<{ boot_kind: BootKind }>) | null;
  /** Of the host that has the VM; null before it reported any. */
  boot_kinds: readonly BootKind[] | null;
  ssh_keys_found: number;
}>;

/** The newest version of an image that runs on the SKU, what its host can start, and how many of the keys are the caller's. */
export const findReinstallFacts = async (
  reader: Reader,
  asked: Readonly<{
    sku_name: string;
    node_id: string | null;
    image_name: string | null;
    ssh_key_ids: readonly string[];
  }>,
): Promise<ReinstallFacts> => {
  const { rows } = await reader.query<ReinstallFacts>(
    `select (select json_build_object('name', i.name, 'digest', c.digest, 'boot_kind', c.boot_kind) from os_images i
         join os_image_skus x on x.image_name = i.name and x.sku_name = $1
         cross join lateral (${CURRENT_VERSION}) c where i.name = $2) as image,
       (select n.host_boot_kinds from nodes n where n.id = $4) as boot_kinds,
       (select count(*) from ssh_keys s where s.id = any ($3)) as ssh_keys_found`,
    [asked.sku_name, asked.image_name, asked.ssh_key_ids, asked.node_id],
  );
  return rows[0] ?? { image: null, boot_kinds: null, ssh_keys_found: 0 };
};
