/** The fault suites of whole nodes, of the other power operations, of launches with user data, and of the host that a launch left. */
import { test } from 'node:test';
import { LAUNCHES, playLaunchFaults, playReleaseFaults } from '../../test/launch-faults.ts';
import { playGuestMoveFaults, playLeftHostFaults, playMoveFaults } from '../../test/move-faults.ts';
import { POWER, playPowerFaults } from '../../test/power-faults.ts';

const WHOLE_NODES = LAUNCHES.filter(({ shape }) => shape === 'baremetal');

for (const launch of WHOLE_NODES) {
  const { workflow, shape } = launch;
  test(`${workflow.name} survives every fault: active and charged once, or failed, held and cleaned up`, (t) =>
    playLaunchFaults(t, launch));

  test(`release of ${shape} survives every fault: proven and free, or blocked and still held`, (t) =>
    playReleaseFaults(t, launch));

  test(`a move of ${workflow.name} survives every fault: one host claimed, the left one until wiped`, (t) =>
    playMoveFaults(t, launch));
}

for (const power of POWER.slice(1)) {
  const { workflow, rest } = power;
  test(`${workflow.name} survives every fault: ${rest}, or unknown with a reason, and always held and charged`, (t) =>
    playPowerFaults(t, power));
}

test('a move of a launch whose guest OS has user data survives every fault: one host claimed, the left one until wiped', (t) =>
  playGuestMoveFaults(t));

test('clean-left-host survives every fault: proven and free, or blocked and still held, and the launch goes on', (t) =>
  playLeftHostFaults(t));
