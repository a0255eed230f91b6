import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launch, unplaceable } from '../../test/unplaceable.ts';
import { refusalOf } from './refusal.ts';

const refuse = (enabled: Parameters<typeof unplaceable>[0]) => refusalOf(unplaceable(enabled), launch);

test('a refusal ends with the operator’s note about the disabled region or SKU, and only then', () => {
  const region = refuse({ region: false, sku: true });
  assert.equal(region.code, 'region_disabled');
  assert.match(region.message, /No power\.$/);
  const closed = refuse({ region: true, sku: false });
  assert.equal(closed.code, 'sku_disabled');
  assert.match(closed.message, /Sold out until spring\.$/);
  const full = refuse({ region: true, sku: true });
  assert.equal(full.code, 'insufficient_capacity');
  assert.doesNotMatch(full.message, /power|Sold/);
  assert.ok((full.details.reasons?.length ?? 0) > 0);
});
