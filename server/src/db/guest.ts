/** The inputs of a guest besides its slots and keys, and its own reports. */
import type { BootKind } from '@gpuaas/contract/node';
import type { Reader } from './client.ts';
import { taskKindIn } from './predicates.ts';

export type GuestImage = Readonly<{ name: string; digest: string; boot_kind: BootKind; readiness_checks: string[] }>;

/** The version that the launch pinned. */
export const findGuestImage = async (
  reader: Reader,
  allocation: Readonly<{ image_name: string | null; image_digest: string | null }>,
): Promise<GuestImage | undefined> =>
  (
    await reader.query<GuestImage>(
      `select v.image_name as name, v.digest, v.boot_kind, v.readiness_checks from os_image_versions v
       where v.image_name = $1 and v.digest = $2`,
      [allocation.image_name, allocation.image_digest],
    )
  ).rows[0];

export type SshFacts = Readonly<{ address: string | null; host_key: string }>;

/**
 * From the last readiness of the system on its boot disk: a newer system has another host key. A whole node reported
 * its key when the account was created; its address is not for its tenant.
 */
export const findSshFacts = async (reader: Reader, allocationId: string): Promise<SshFacts | undefined> =>
  (
    await reader.query<SshFacts>(
      `select t.output ->> 'actual_ip' as address, t.output ->> 'ssh_host_key' as host_key from node_tasks t
       where t.allocation_id = $1 and t.state = 'completed' and t.output ->> 'ssh_host_key' is not null
         and (t.kind ${taskKindIn('allocation.provision_user')}
           or (t.kind ${taskKindIn('slice.vm_readiness')} and t.output ->> 'actual_ip' is not null))
         and t.created_at > coalesce((select max(c.finished_at) from node_tasks c
           where c.allocation_id = $1 and c.kind ${taskKindIn('slice.image_clone')} and c.state = 'completed'), '-infinity')
       order by t.attempt desc limit 1`,
      [allocationId],
    )
  ).rows[0];

/** Whether the guest OS itself reported that it differs from the claim: for VM readiness that is its GPUs. */
export const hasGpusMissing = async (
  reader: Reader,
  { allocation_id, node_id }: Readonly<{ allocation_id: string; node_id: string }>,
): Promise<boolean> =>
  (
    await reader.query(
      `select from node_tasks where allocation_id = $1 and node_id = $2 and kind ${taskKindIn('slice.vm_readiness')}
         and state = 'failed' and error_code = 'drift' limit 1`,
      [allocation_id, node_id],
    )
  ).rowCount === 1;
