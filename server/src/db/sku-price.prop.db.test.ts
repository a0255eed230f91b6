/** The current price in SQL is that of the domain, for every history and time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { testDatabase } from '../../test/database.ts';
import { priceAt } from '../domain/catalog.ts';
import { PLATFORM } from './client.ts';
import { currentPrice } from './predicates.ts';

const START = Date.parse('2026-11-15T10:00:00.000Z');
const at = (minutes: number): string => new Date(START + minutes * 60_000).toISOString();

/** Times are unique among prices that were not cancelled, as the schema demands. */
const history = fc
  .uniqueArray(fc.record({ minute: fc.nat({ max: 20 }), isCancelled: fc.boolean(), isEnded: fc.boolean() }), {
    maxLength: 8,
    selector: ({ minute }) => minute,
  })
  .map((rows) =>
    rows.map(({ minute, isCancelled, isEnded }, index) => ({
      id: `prc_${index}`,
      sku_name: 'sku',
      gpu_hourly_price_minor: index,
      currency: 'USD',
      valid_from: at(minute),
      cancelled_at: isCancelled ? at(minute - 1) : null,
      ended_at: isEnded && !isCancelled ? at(minute + 1) : null,
    })),
  );

test('the price at a time is the newest that has begun, was not cancelled and did not end, in SQL as in the domain', async (t) => {
  const { database } = await testDatabase(t);
  let without = 0;
  await fc.assert(
    fc.asyncProperty(history, fc.integer({ min: -1, max: 21 }), async (prices, minute) => {
      const found = await database.read(PLATFORM, async (reader) => {
        const { rows } = await reader.query<{ id: string }>(
          `with sku_prices as (select * from jsonb_to_recordset($1::jsonb) as p (id text, sku_name text, gpu_hourly_price_minor bigint,
             currency text, valid_from timestamptz, cancelled_at timestamptz, ended_at timestamptz))
           select c.id from (${currentPrice("'sku'", '$2::timestamptz')}) c`,
          [JSON.stringify(prices), at(minute)],
        );
        return rows[0]?.id;
      });
      const begun = prices.filter(
        (one) => one.cancelled_at === null && one.ended_at === null && one.valid_from <= at(minute),
      );
      const newest = begun
        .map(({ valid_from }) => valid_from)
        .toSorted()
        .at(-1);
      assert.equal(found, begun.find(({ valid_from }) => valid_from === newest)?.id);
      assert.equal(found, priceAt(prices, Date.parse(at(minute)))?.id);
      if (found === undefined) without += 1;
    }),
    { numRuns: 200 },
  );
  assert.ok(without > 0, 'no history was without a price');
});
