import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readFaults } from '../../node-agent/src/host/sim/fault.ts';
import { faultCommand } from './fault-command.ts';
import { machineDir } from './fleet-dir.ts';
import { UsageError } from './usage.ts';

const LAB = fileURLToPath(new URL('../../bin/gpuaas-lab', import.meta.url));
const lab = (...words: readonly string[]) => spawnSync(LAB, words, { encoding: 'utf8' });

const aFleet = (t: TestContext) => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-lab-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const machine = machineDir(dir, 'j22u15');
  mkdirSync(machine, { recursive: true });
  return { dir, machine };
};

test('a rule is added with all its options, listed, and cleared by its id', (t) => {
  const { dir, machine } = aFleet(t);
  const rule = '--when slice.vm_start --do fail --times 2 --slot 3 --code timeout --after';
  const added = lab('fault', 'add', '--dir', dir, '--node', 'j22u15', ...rule.split(' '));
  assert.equal(added.status, 0, added.stderr);
  const [laid] = readFaults(machine);
  const { id, added_at: _, ...rest } = laid ?? assert.fail('there is no rule');
  assert.deepEqual(rest, { when: 'slice.vm_start', do: 'fail', times: 2, slot: 3, code: 'timeout', after: true });
  assert.match(lab('fault', 'list', '--dir', dir).stdout, new RegExp(`^j22u15  ${id}  slice\\.vm_start fail  `));
  assert.match(lab('fault', 'clear', '--dir', dir, '--node', 'j22u15', id).stdout, /^1 rules? cleared/);
  assert.deepEqual(readFaults(machine), []);
});

test('an invalid rule is refused with a reason and adds nothing', (t) => {
  const { dir, machine } = aFleet(t);
  const refused: readonly (readonly [string, RegExp])[] = [
    ['--node j22u15 --when slice.vm_start --do explode', /cannot "explode"/],
    ['--node j22u15 --when slice.vm_start --do lie', /cannot lie/],
    ['--node j22u15 --when slice.dance --do fail', /slice\.dance/],
    ['--node j22u15 --state on_fire', /on_fire/],
    ['--node j22u15 --when slice.vm_start', /--when and --do, or --state/],
    ['--node j22u15 --when slice.vm_start --do fail --times many', /--times is a whole number/],
    ['--node elsewhere --state no_lease', /no simulated host "elsewhere".*there are j22u15/],
    ['--state no_lease', /--node NAME/],
  ];
  for (const [words, reason] of refused)
    assert.throws(
      () => faultCommand(['add', '--dir', dir, ...words.split(' ')]),
      (err) => err instanceof UsageError && reason.test(err.message),
      words,
    );
  assert.equal(lab('fault', 'dance').status, 2);
  assert.deepEqual(readFaults(machine), []);
});

test('every help fits 80 columns', () => {
  for (const words of [['--help'], ['fleet', '--help'], ['host', '--help'], ['fault', '--help'], ['fault', 'states']]) {
    const { status, stdout } = lab(...words);
    assert.equal(status, 0);
    assert.deepEqual(
      stdout.split('\n').filter((line) => line.length > 80),
      [],
    );
  }
});
