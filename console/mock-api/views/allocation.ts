/** An allocation as its tenant sees it: its request, its price and its actions. Never the host. */
import { allocationActions } from '../../../server/src/domain/allocation-actions.ts';
import { fabricOf } from '../../../server/src/domain/fabric.ts';
import { GUEST_USERNAME, usernameOf } from '../../../server/src/domain/host-name.ts';
import type { PowerFacts } from '../../../server/src/domain/power.ts';
import type { MockCtx } from '../core/context.ts';
import type { Allocation, AllocationView, Region } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { noticesFor } from '../simulation/health.ts';
import { costOf } from '../simulation/usage.ts';
import { progressOf } from './progress.ts';

/** As the power and session rules need it. */
export const powerFacts = (row: Allocation): PowerFacts & Pick<Allocation, 'name' | 'node_id'> => ({
  ...row,
  power_state: row.power?.state ?? null,
});

const sshOf = (row: Allocation): AllocationView['ssh'] => {
  if (row.state !== 'active') return null;
  const username = row.capacity_shape === 'baremetal' ? usernameOf(row.id) : GUEST_USERNAME;
  return { username, address: row.private_ip, port: 22, host_key: row.host_key };
};

const fabricIsolationIn = (world: World, name: string): Region['fabric_isolation'] =>
  world.regions.find((one) => one.name === name)?.fabric_isolation ?? 'none';

export type ViewOptions = Readonly<{
  /** Also the fields that a list leaves out. */
  isDetailed?: boolean;
  /** Whether to include work in progress: not in responses to changes. */
  withProgress?: boolean;
}>;

export const allocationView =
  (ctx: MockCtx, { isDetailed = false, withProgress = true }: ViewOptions = {}) =>
  (row: Allocation): AllocationView => {
    const { world } = ctx;
    const { organization_id, node_id: _node, slot_ids: _slots, host_key: _key, private_ip: _ip, run_id, ...rest } = row;
    const run = run_id === null ? undefined : world.runs.get(run_id);
    return {
      ...rest,
      fabric: fabricOf({ ...row, fabric_isolation: fabricIsolationIn(world, row.region_name) }),
      progress: withProgress ? progressOf(run, row, world.now(), isDetailed) : null,
      notices: noticesFor(world, row),
      ssh: isDetailed ? sshOf(row) : null,
      cost_so_far: { amount_minor: costOf(world, row), currency: row.placement.gpu_hourly_price.currency },
      actions: allocationActions(powerFacts(row), (permission) =>
        ctx.holds(permission, organization_id, row.project_id),
      ),
    };
  };
