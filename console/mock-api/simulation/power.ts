/**
 * Power of an active slice: requested, changed by one run, and stable again. The allocation stays active and is
 * charged.
 */
import { type FinalPowerState, POWER_DURING, type PowerChange } from '../../../server/src/domain/power.ts';
import type { Allocation } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import type { PathName } from './paths.ts';
import { startRun } from './run.ts';

type Power = NonNullable<Allocation['power']>;

const CHANGES: Readonly<Record<PowerChange, Readonly<{ path: PathName; rest: FinalPowerState }>>> = {
  stop: { path: 'stop-slice', rest: 'off' },
  start: { path: 'start-slice', rest: 'on' },
  reboot: { path: 'reboot-slice', rest: 'on' },
  reinstall: { path: 'reinstall-slice', rest: 'on' },
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

export const startPowerChange = (world: World, row: Allocation, change: PowerChange, correlation_id: string): void => {
  const { path, rest } = CHANGES[change];
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
  movePower(world, row, power(POWER_DURING[change], run.id, before?.install_number ?? 0), correlation_id);
};
