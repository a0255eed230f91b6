import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isNetwork } from './private-network.ts';

test('a network has no bits after its prefix', () => {
  for (const network of ['10.100.0.0/24', '10.0.0.0/8', '192.168.4.0/22']) assert.equal(isNetwork(network), true);
  for (const network of ['10.1.2.3/24', '192.168.5.0/22', '10.0.300.0/24']) assert.equal(isNetwork(network), false);
});
