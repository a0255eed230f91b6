/** An allocation as its tenant sees it: what it asked for, what it pays, what it may do now. Never the host. */
import { roleRefusal } from '@gpuaas/contract';
import { releaseRefusal, updateRefusal } from '../../../server/src/domain/allocation-actions.ts';
import { GUEST_USERNAME, usernameOf } from '../../../server/src/domain/host-name.ts';
import { POWER_DURING, type PowerChange, type PowerFacts, powerRefusal } from '../../../server/src/domain/power.ts';
import type { MockCtx } from '../core/context.ts';
import type { Allocation, AllocationView } from '../core/rows.ts';
import { costOf } from '../life/usage.ts';
import { progressOf } from './progress.ts';

export const action = (name: string, reason: string | null) => ({ name, allowed: reason === null, reason });

const POWER_CHANGES = Object.keys(POWER_DURING) as PowerChange[];

/** As the rules of power and of sessions ask for it. */
export const powerFacts = (row: Allocation): PowerFacts & Pick<Allocation, 'name' | 'node_id'> => ({
  ...row,
  power_state: row.power?.state ?? null,
});

const sshOf = (row: Allocation): AllocationView['ssh'] => {
  if (row.state !== 'active') return null;
  const username = row.capacity_shape === 'baremetal' ? usernameOf(row.id) : GUEST_USERNAME;
  return { username, address: row.private_ip, port: 22, host_key: row.host_key };
};

export type ViewOptions = Readonly<{
  /** Also what a list leaves out. */
  isDetailed?: boolean;
  /** Whether to say what is under way: not in answers to changes. */
  withProgress?: boolean;
}>;

export const allocationView =
  (ctx: MockCtx, { isDetailed = false, withProgress = true }: ViewOptions = {}) =>
  (row: Allocation): AllocationView => {
    const { world } = ctx;
    const { organization_id, node_id: _node, slot_ids: _slots, host_key: _key, private_ip: _ip, run_id, ...rest } = row;
    const may = (permission: 'allocation.update' | 'allocation.release' | 'allocation.power', reason: string | null) =>
      ctx.holds(permission, organization_id, row.project_id) ? reason : roleRefusal(permission);
    const run = run_id === null ? undefined : world.runs.get(run_id);
    return {
      ...rest,
      progress: withProgress ? progressOf(run, row, world.now(), isDetailed) : null,
      ssh: isDetailed ? sshOf(row) : null,
      cost_so_far: { amount_minor: costOf(world, row), currency: row.placement.gpu_hourly_price.currency },
      actions: [
        action('update', may('allocation.update', updateRefusal(row.state)?.reason ?? null)),
        action('release', may('allocation.release', releaseRefusal(row)?.reason ?? null)),
        ...(row.capacity_shape === 'baremetal'
          ? []
          : POWER_CHANGES.map((change) =>
              action(change, may('allocation.power', powerRefusal(powerFacts(row), change))),
            )),
      ],
    };
  };
