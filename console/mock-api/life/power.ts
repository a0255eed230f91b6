/** Power of an active slice: asked for, worked at by one run, and at rest again. The allocation stays active and is charged. */
import type { Allocation } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import type { PathName } from './paths.ts';
import { startRun } from './run.ts';

export type PowerChange = 'stop' | 'start' | 'reboot' | 'reinstall';
type Power = NonNullable<Allocation['power']>;

const CHANGES: Readonly<
  Record<PowerChange, Readonly<{ path: PathName; during: Power['state']; rest: Power['state'] }>>
> = {
  stop: { path: 'stop-slice', during: 'stopping', rest: 'off' },
  start: { path: 'start-slice', during: 'starting', rest: 'on' },
  reboot: { path: 'reboot-slice', during: 'rebooting', rest: 'on' },
  reinstall: { path: 'reinstall-slice', during: 'reinstalling', rest: 'on' },
};
export const POWER_CHANGES = Object.keys(CHANGES) as PowerChange[];

const NOT_ACTIVE: Readonly<Record<Exclude<Allocation['state'], 'active'>, string>> = {
  requested: 'It is being provisioned; wait until it is active.',
  provisioning: 'It is being provisioned; wait until it is active.',
  releasing: 'It is being released; launch another.',
  released: 'It is released; launch another.',
  failed: 'It has failed; launch another.',
  release_failed: 'It is being released; launch another.',
};

/** Why this change cannot be asked for now, and what to do instead. */
export const powerRefusal = (row: Allocation, change: PowerChange): string | null => {
  if (row.capacity_shape === 'baremetal')
    return 'It is a whole node, whose power is its operating system’s: use that, or release it.';
  if (row.state !== 'active') return NOT_ACTIVE[row.state];
  const state = row.power?.state ?? 'unknown';
  if (!['on', 'off', 'unknown'].includes(state)) return `It is ${state}; wait until that is over, or release it.`;
  if (change === 'reboot' && state === 'off') return 'It is off; start it instead.';
  return change === 'reinstall' && row.is_protected ? 'It is protected; remove the protection first.' : null;
};

const movePower = (world: World, row: Allocation, power: Power, correlation_id: string): void => {
  row.power = power;
  world.emit('allocation.power_changed', {
    subject: row.id,
    organization_id: row.organization_id,
    project_id: row.project_id,
    correlation_id,
    data: { allocation_id: row.id, name: row.name, power_state: power.state, power_reason: power.reason },
  });
};

export const beginPower = (world: World, row: Allocation, change: PowerChange, correlation_id: string): void => {
  const { path, during, rest } = CHANGES[change];
  const before = row.power;
  const installs = (before?.install_number ?? 0) + (change === 'reinstall' ? 1 : 0);
  const power = (state: Power['state'], workflow_run_id: string | null, install_number: number): Power => ({
    state,
    reason: null,
    since: world.ago(),
    workflow_run_id,
    is_charged: true,
    install_number,
  });
  const run = startRun(world, {
    path,
    subject_id: row.id,
    organization_id: row.organization_id,
    project_id: row.project_id,
    correlation_id,
    node_id: row.node_id,
    allocation_id: row.id,
    onDone: () => {
      row.run_id = null;
      movePower(world, row, power(rest, null, installs), correlation_id);
    },
  });
  row.run_id = run.id;
  movePower(world, row, power(during, run.id, before?.install_number ?? 0), correlation_id);
};
