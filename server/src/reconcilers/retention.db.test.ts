import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../test/database.ts';
import { PLATFORM } from '../db/client.ts';
import { RETENTION } from './retention.ts';

test('every table of the schema is in the list of retention, and what is purged may be deleted', async (t) => {
  const { database } = await testDatabase(t);
  const { rows } = await database.read(PLATFORM, (reader) =>
    reader.query<{ name: string; may_delete: boolean }>(
      `select c.relname as name, has_table_privilege(c.oid, 'delete') as may_delete from pg_class c
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
         and not (c.relispartition and c.relname <> 'log_lines_default')`,
    ),
  );
  assert.deepEqual(Object.keys(RETENTION).toSorted(), rows.map(({ name }) => name).toSorted());
  // They leave by a function of the owner.
  const cut = ['wipe_proofs'];
  for (const { name, may_delete } of rows)
    if (RETENTION[name]?.purges !== undefined && !cut.includes(name)) assert.ok(may_delete, name);
});
