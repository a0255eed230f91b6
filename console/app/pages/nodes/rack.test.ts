import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byRack, placeOf } from './rack.ts';

test('rack and unit are read from names that follow the convention and are empty otherwise', () => {
  assert.deepEqual(placeOf('j22u15'), { rack: 'j22', unit: 15 });
  assert.deepEqual(placeOf('J22U03'), { rack: 'j22', unit: 3 });
  assert.deepEqual(placeOf('ab-4-u7'), { rack: 'ab-4', unit: 7 });
  for (const name of ['gpu-host', 'j22', 'u15', 'j22u15.example.org', 'j22u1234', ''])
    assert.equal(placeOf(name).rack, 'other', name);
});

test('racks and units are in numeric order, and "other" comes last', () => {
  const racks = byRack(['j10u2', 'spare', 'j2u11', 'j2u9', 'J10U1', 'annex'].map((name) => ({ name })));
  assert.deepEqual(
    racks.map(({ rack, nodes }) => [rack, ...nodes.map(({ name }) => name)]),
    [
      ['j2', 'j2u9', 'j2u11'],
      ['j10', 'J10U1', 'j10u2'],
      ['other', 'annex', 'spare'],
    ],
  );
});
