import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { execute, fetchAll, fetchOne, qb, type Row } from './builder.ts';
import type { Reader, Tx } from './client.ts';

/** A transaction that answers with fixed rows and remembers what it was asked. */
const recorder = (rows: object[]) => {
  const asked: { text: string; values: readonly unknown[] }[] = [];
  const tx: Tx = {
    query: async <R extends object>(text: string, values: readonly unknown[] = []) => {
      asked.push({ text, values });
      return { rows: rows as R[], rowCount: rows.length };
    },
    defer: () => {},
    afterCommit: () => {},
    enter: () => {},
  };
  return { tx, asked };
};

/** Compiles only if the types are the same in both directions. */
const sameType = <A, B>(_same: [A] extends [B] ? ([B] extends [A] ? true : false) : false): void => {};

describe('query builder', () => {
  it('sends values beside the text, never inside it', async () => {
    const { tx, asked } = recorder([]);
    await fetchAll(tx, qb.selectFrom('projects').select(['id', 'name']).where('name', '=', "x' or true --").limit(3));
    assert.deepEqual(asked, [
      { text: 'select "id", "name" from "projects" where "name" = $1 limit $2', values: ["x' or true --", 3] },
    ]);
  });

  it('infers rows from the schema: checked words are unions, times are strings, int8 is a number', async () => {
    const { tx } = recorder([{ role: 'owner', created_at: '2026-01-01T00:00:00.000Z' }]);
    const row = await fetchOne(tx, qb.selectFrom('tenant_memberships').select(['role', 'created_at']));
    sameType<typeof row, { role: 'owner' | 'admin' | 'member' | 'viewer'; created_at: string } | undefined>(true);
    sameType<Row<'sku_catalog'>['gpu_hourly_price_minor'], number>(true);
    assert.equal(row?.role, 'owner');
  });

  it('gives undefined for a row that is not there', async () => {
    assert.equal(await fetchOne(recorder([]).tx, qb.selectFrom('users').selectAll()), undefined);
  });

  it('answers a write with its returned rows and their number', async () => {
    const { tx, asked } = recorder([{ id: 'prj_1' }]);
    const result = await execute(
      tx,
      qb.updateTable('projects').set({ display_name: 'New' }).where('id', '=', 'prj_1').returning('id'),
    );
    assert.deepEqual(result, { rows: [{ id: 'prj_1' }], rowCount: 1 });
    assert.match(asked[0]?.text ?? '', /^update "projects" set "display_name" = \$1 where "id" = \$2 returning "id"$/);
  });

  it('does not let a reader write, or a word in that the database would refuse', () => {
    const reader: Reader = recorder([]).tx;
    const write = () => {
      // @ts-expect-error a write needs a transaction
      void execute(reader, qb.deleteFrom('ssh_keys'));
      // @ts-expect-error not one of the roles in the check constraint
      qb.updateTable('tenant_memberships').set({ role: 'king' });
    };
    assert.equal(typeof write, 'function');
  });
});
