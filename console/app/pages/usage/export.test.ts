import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UsageRecord } from '@gpuaas/sdk';
import { decimal, usageCsv, usageJson } from './export.ts';

const record = (rest: Partial<UsageRecord> = {}): UsageRecord => ({
  id: 'usg_1',
  allocation_id: 'alc_1',
  sku_name: 'h200',
  gpu_count: 4,
  gpu_hourly_price: { amount_minor: 450, currency: 'USD' },
  started_at: '2026-11-01T00:00:00Z',
  ended_at: null,
  cost: { amount_minor: 3192, currency: 'USD' },
  ...rest,
});

test('money becomes a number with the decimals of its currency', () => {
  assert.equal(decimal({ amount_minor: 3192, currency: 'USD' }), '31.92');
  assert.equal(decimal({ amount_minor: 5, currency: 'USD' }), '0.05');
  assert.equal(decimal({ amount_minor: 0, currency: 'USD' }), '0.00');
  assert.equal(decimal({ amount_minor: -120, currency: 'USD' }), '-1.20');
  assert.equal(decimal({ amount_minor: 500, currency: 'JPY' }), '500');
  assert.equal(decimal({ amount_minor: Number.MAX_SAFE_INTEGER, currency: 'USD' }), '90071992547409.91');
});

test('the CSV contains every record as the API returns it', () => {
  const csv = usageCsv(
    [record(), record({ id: 'usg_2', ended_at: '2026-11-02T00:00:00Z' })],
    new Map([['alc_1', 'train']]),
  );
  const [head, first, second] = csv.split('\r\n');
  assert.equal(head?.split(',').length, 10);
  assert.equal(first, 'usg_1,alc_1,train,h200,4,4.50,2026-11-01T00:00:00Z,,31.92,USD');
  assert.match(second ?? '', /2026-11-02T00:00:00Z,31\.92/);
});

test('no cell is a formula, whatever a name contains', () => {
  for (const name of ['=1+1', '+1', '-x', '@SUM(A1)', '\t=1', '\r=1']) {
    const csv = usageCsv([record()], new Map([['alc_1', name]]));
    assert.ok(csv.includes(`'${name}`), name);
  }
  assert.ok(usageCsv([record()], new Map([['alc_1', 'a "b", c\nd']])).includes('"a ""b"", c\nd"'));
  const negative = usageCsv([record({ cost: { amount_minor: -5, currency: 'USD' } })], new Map());
  assert.ok(negative.includes(',-0.05,'), 'a number stays a number');
});

test('the JSON equals the response of the API', () => {
  assert.deepEqual(JSON.parse(usageJson([record()])), { items: [record()] });
});
