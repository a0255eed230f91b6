/** The fault suites of slices. Those of whole nodes, which share their code, are in `faults.slow.db.test.ts`. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LAUNCHES, playLaunchFaults, playReleaseFaults } from '../../test/launch-faults.ts';
import { playMoveFaults } from '../../test/move-faults.ts';
import { POWER, playPowerFaults } from '../../test/power-faults.ts';
import { WORKFLOWS } from '../domain/workflow-steps.ts';

const SLICES = LAUNCHES.filter(({ shape }) => shape === 'gpu_slice');

for (const launch of SLICES) {
  const { workflow, shape } = launch;
  test(`${workflow.name} survives every fault: active and charged once, or failed, held and cleaned up`, (t) =>
    playLaunchFaults(t, launch));

  test(`release of ${shape} survives every fault: proven and free, or blocked and still held`, (t) =>
    playReleaseFaults(t, launch));

  test(`a move of ${workflow.name} survives every fault: one host claimed, the left one until wiped`, (t) =>
    playMoveFaults(t, launch));
}

for (const power of POWER.slice(0, 1)) {
  const { workflow, rest } = power;
  test(`${workflow.name} survives every fault: ${rest}, or unknown with a reason, and always held and charged`, (t) =>
    playPowerFaults(t, power));
}

test('every workflow is in a fault suite', () => {
  const texts = [import.meta.dirname, join(import.meta.dirname, '../../test')]
    .flatMap((dir) => readdirSync(dir).map((name) => join(dir, name)))
    .filter((file) => /faults\.ts$|\.db\.test\.ts$/.test(file))
    .map((file) => readFileSync(file, 'utf8'))
    .filter((text) => text.includes(' runFaults'));
  const variableOf = (name: string): string => name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  const missing = WORKFLOWS.map(({ name }) => name).filter(
    (name) => !texts.some((text) => new RegExp(`workflow: ${variableOf(name)}\\b`).test(text)),
  );
  assert.deepEqual(missing, []);
});
