/** An allocation as its tenant sees it: its request, its cost, its available actions. Never the host. */
import type { Permission } from '@gpuaas/contract';
import type { ShownAllocation } from '../db/allocation.ts';
import type { SshFacts } from '../db/guest.ts';
import { allocationActions } from '../domain/allocation-actions.ts';
import { fabricOf } from '../domain/fabric.ts';
import { GUEST_USERNAME, usernameOf } from '../domain/host-name.ts';
import { networkOf } from '../domain/launch-choice.ts';
import { noticesOf } from '../domain/notice.ts';
import type { Progress } from '../domain/progress.ts';
import { costSoFar } from '../domain/usage.ts';

const SSH_PORT = 22;

const powerOf = (row: ShownAllocation) =>
  row.power_state === null || row.power_since === null
    ? null
    : {
        state: row.power_state,
        reason: row.power_reason,
        since: row.power_since,
        workflow_run_id: row.power_run_id,
        is_charged: true,
        install_number: row.install_number,
      };

/** A slice's account is its image's; on a whole node it is created for the allocation. */
const sshOf = (row: ShownAllocation, ssh: SshFacts | null) => {
  if (ssh === null || row.state !== 'active') return null;
  const username = row.capacity_shape === 'baremetal' ? usernameOf(row.id) : GUEST_USERNAME;
  return { username, port: SSH_PORT, ...ssh };
};

/** The cost until now: closed records as rounded, and the open one as if it ended now. */
export const costSoFarMinor = (row: ShownAllocation, nowMs: number): number => {
  if (row.open_since === null) return row.closed_cost_minor;
  const { gpu_count, gpu_hourly_price_minor, open_since: started_at } = row;
  return row.closed_cost_minor + costSoFar({ gpu_count, gpu_hourly_price_minor, started_at, cost_minor: null }, nowMs);
};

export const allocationView = (
  row: ShownAllocation,
  nowMs: number,
  holds: (permission: Permission) => boolean,
  progress: Progress | null = null,
  ssh: SshFacts | null = null,
) => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  capacity_shape: row.capacity_shape,
  sku_name: row.sku_name,
  region_name: row.region_name,
  image_name: row.image_name,
  image_digest: row.image_digest,
  gpu_count: row.gpu_count,
  placement: {
    gpu_count: row.gpu_count,
    vm_profile: row.vm_profile_name,
    vcpu_count: row.vcpu_count,
    memory_mib: row.memory_mib,
    gpu_hourly_price: { amount_minor: row.gpu_hourly_price_minor, currency: row.currency },
  },
  storage: row.storage,
  network: networkOf(row),
  fabric: fabricOf(row),
  state: row.state,
  state_reason: row.state_reason,
  state_since: row.state_since,
  state_deadline_at: row.state_deadline_at,
  progress,
  power: powerOf(row),
  notices: noticesOf(row.notices),
  ssh_key_ids: row.ssh_key_ids,
  ssh: sshOf(row, ssh),
  tags: row.tags,
  is_protected: row.is_protected,
  max_duration_s: row.max_duration_s,
  release_at: row.release_at,
  activated_at: row.activated_at,
  release_requested_at: row.release_requested_at,
  released_at: row.released_at,
  cost_so_far: { amount_minor: costSoFarMinor(row, nowMs), currency: row.currency },
  requested_by: row.requested_by,
  correlation_id: row.correlation_id,
  version: row.version,
  created_at: row.created_at,
  actions: allocationActions(row, holds),
});
