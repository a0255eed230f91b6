import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flawsOfMigrations } from './migrations.ts';

const flawsOf = (sql: string): readonly string[] => flawsOfMigrations([{ name: '0001_x.sql', sql }], 0);

test('a migration that blocks a table that exists is found, with what to write instead', () => {
  for (const [sql, expected] of [
    [
      'create index a on nodes (x);',
      /0001_x\.sql: the index a on nodes blocks every writer.*create index concurrently/,
    ],
    ['create unique index if not exists a on nodes (x);', /the index a on nodes/],
    ['alter table nodes add constraint c check (x > 0);', /checks every row.*not valid/],
    [
      'alter table nodes drop constraint d, add constraint c foreign key (x, y) references t (x, y);',
      /checks every row/,
    ],
    ['alter table nodes add check (x in (1, 2));', /checks every row/],
    ['alter table nodes add column x int check (x > 0);', /Add the column without it/],
    ['alter table nodes\n  add column y int,\n  add column x text references t (id);', /Add the column without it/],
    ['alter table nodes add column x int unique;', /builds an index/],
    ['alter table nodes add constraint c unique (x);', /using index/],
    ['alter table nodes alter column x set not null;', /is not null\) not valid/],
    ['alter table nodes alter x type bigint;', /write the whole table/],
    ['alter table nodes add column x boolean generated always as (y is null) stored;', /write.* the whole table/],
    ['-- blocks regions: small\ncreate index a on nodes (x);', /the index a on nodes/],
    ['create index concurrently a on nodes (x);', /first line is "-- no transaction"/],
    ['-- no transaction\nupdate nodes set x = 1;', /may only contain/],
  ] as const) {
    const found = flawsOf(sql);
    assert.equal(found.length, 1, `${sql}: ${found.join()}`);
    assert.match(found[0] ?? '', expected, sql);
  }
});

test('new and small tables, tables stated to be small, columns without a rule, unvalidated constraints and concurrent indexes are allowed', () => {
  for (const sql of [
    'create table t (id text primary key, x int check (x > 0));\ncreate index a on t (x);\nalter table t add constraint c check (x < 9);',
    'create index a on regions (name);',
    "alter table nodes add column x int not null default 0, add column y text default 'check (x)';",
    'alter table nodes add constraint c check (x > 0) not valid;',
    'alter table nodes add constraint c unique using index a;',
    'alter table nodes enable row level security, drop constraint c;',
    '-- no transaction\ncreate unique index concurrently a on nodes (x);\nalter table nodes validate constraint c;',
    '-- create index a on nodes (x);',
    '-- blocks nodes: at most some thousand rows\ncreate index a on nodes (x);',
    'create function f() returns int language sql as $$ create index a on nodes (x); select 1 $$;',
  ])
    assert.deepEqual(flawsOf(sql), [], sql);
});

test('numbers have no gap and no file twice', () => {
  const named = (...names: string[]) => flawsOfMigrations(names.map((name) => ({ name, sql: '' })));
  assert.deepEqual(named('0001_a.sql', '0002_b.sql'), []);
  assert.match(named('0001_a.sql', '0003_b.sql').join(), /0002 is missing before 0003_b/);
  assert.match(named('0001_a.sql', '0001_b.sql').join(), /have one number/);
});
