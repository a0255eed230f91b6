import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMAND_KINDS, describeCommands, generate, LAYOUTS, layoutOf, parseCommands } from './command.ts';
import { shrink } from './shrink.ts';

test('a seed gives the same commands again, and another seed gives others', () => {
  assert.deepEqual(generate(7, 100), generate(7, 100));
  assert.notDeepEqual(generate(7, 100), generate(8, 100));
  assert.deepEqual(
    generate(7, 100).slice(0, 40),
    generate(7, 40),
    'a shorter history is the beginning of a longer one',
  );
});

test('twenty histories contain every kind of command', () => {
  const kinds = new Set(
    Array.from({ length: 20 }, (_, seed) => generate(seed + 1, 100)).flatMap((list) => list.map((one) => one.do)),
  );
  assert.deepEqual([...kinds].sort(), [...COMMAND_KINDS].sort());
});

test('every layout of processes is played, and the rest of a list keeps its layout', () => {
  const layouts = new Set(Array.from({ length: 50 }, (_, seed) => layoutOf(generate(seed + 1, 10))));
  assert.deepEqual([...layouts].sort(), [...LAYOUTS].sort());
  assert.equal(layoutOf(generate(50, 10)), 'spawned');
  assert.equal(layoutOf([]), 'joined');
});

test('commands that were printed are read again, and unknown ones are refused', () => {
  const commands = generate(7, 100);
  assert.deepEqual(parseCommands(describeCommands(commands)), commands);
  assert.throws(() => parseCommands('{"do":"dance"}'), /no command is named dance/);
});

test('a failing list is shrunk to the items that make it fail', async () => {
  const items = Array.from({ length: 100 }, (_, index) => index);
  let tries = 0;
  const fails = async (part: readonly number[]) => {
    tries += 1;
    return part.includes(13) && part.includes(71);
  };
  assert.deepEqual(await shrink(items, fails, 200), [13, 71]);
  assert.ok(tries < 60, `${tries} tries`);
});

test('shrinking stops after its tries, with a list that fails', async () => {
  const items = Array.from({ length: 100 }, (_, index) => index);
  const found = await shrink(items, async (part) => part.includes(13) && part.includes(71), 3);
  assert.ok(found.includes(13) && found.includes(71) && found.length < 100);
});
