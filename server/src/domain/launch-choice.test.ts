import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FABRIC_PROVIDERS } from '@gpuaas/contract';
import { chooseNetwork, chooseStorage, launchChoices, networkOf } from './launch-choice.ts';

const fabric_isolation = 'none';
const slice = (gpu_count: number) => launchChoices({ capacity_shape: 'gpu_slice', gpu_count, fabric_isolation });
const BARE_METAL = launchChoices({ capacity_shape: 'baremetal', gpu_count: 8, fabric_isolation });
const availableIn = ({ storage, network }: typeof BARE_METAL) =>
  [...storage, ...network].filter(({ available }) => available).map(({ name }) => name);

test('data disks can be formatted where a slice has any, and bare metal has neither choice', () => {
  assert.deepEqual(availableIn(slice(1)), ['raw', 'private_nat']);
  assert.deepEqual(availableIn(slice(2)), ['raw', 'formatted', 'private_nat']);
  assert.deepEqual(availableIn(slice(8)), ['raw', 'formatted', 'private_nat']);
  assert.deepEqual(availableIn(BARE_METAL), ['raw']);
});

test('each choice that is not available has a reason, and no other', () => {
  for (const { storage, network } of [slice(1), slice(2), BARE_METAL])
    for (const { available, reason } of [...storage, ...network]) assert.equal(reason === null, available);
});

test('the data disks of bare metal are those of its node, not one for each GPU', () => {
  assert.match(BARE_METAL.storage[0]?.description ?? '', /the approved disks of the node\. Wiped/);
  assert.match(slice(2).storage[0]?.description ?? '', /one for each GPU after the first\. Wiped/);
});

test('a launch gets the choice that it names, else the first available one, else none', () => {
  assert.deepEqual(chooseStorage(slice(2), 'formatted'), { name: 'formatted' });
  assert.deepEqual(chooseStorage(slice(2), null), { name: 'raw' });
  assert.deepEqual(chooseNetwork(slice(2), null), { name: 'private_nat' });
  assert.deepEqual(chooseNetwork(BARE_METAL, null), { name: null });
  assert.deepEqual(chooseNetwork(BARE_METAL, 'private_nat'), { reason: BARE_METAL.network[0]?.reason });
});

test('the fabric network of a project is listed and refused with the reason of the region', () => {
  const [, fabric] = slice(2).network;
  assert.deepEqual([fabric?.name, fabric?.available], ['fabric', false]);
  assert.equal(fabric?.reason, FABRIC_PROVIDERS.none.refusal);
  assert.deepEqual(chooseNetwork(slice(2), 'fabric'), { reason: FABRIC_PROVIDERS.none.refusal });
  assert.deepEqual(chooseNetwork(BARE_METAL, 'fabric'), { reason: 'Bare metal uses the network of its node.' });
  const offered = slice(2).network.map((choice) => ({ ...choice, available: true, reason: null }));
  assert.throws(
    () => chooseNetwork({ ...slice(2), network: offered }, 'fabric'),
    /No launch carries out/,
    'a choice that nothing connects yet never becomes the private network',
  );
});

test('a slice without a stored network is behind NAT, and bare metal has none', () => {
  assert.equal(networkOf({ capacity_shape: 'gpu_slice', network: null }), 'private_nat');
  assert.equal(networkOf({ capacity_shape: 'gpu_slice', network: 'private_nat' }), 'private_nat');
  assert.equal(networkOf({ capacity_shape: 'baremetal', network: null }), null);
});
