import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readCatalog } from './catalog.ts';
import { withClient, withMigratedDatabase } from './database.ts';
import { ROOT } from './file.ts';
import { rowTypes } from './row-types.ts';
import { schemaText } from './schema.ts';

/** Runs the statements in a second, empty database of the same server and reads its catalog. */
const catalogAfter = async (url: string, name: string, sql: string) => {
  await withClient(url, (client) => client.query(`create database ${name}`));
  const other = new URL(url);
  other.pathname = `/${name}`;
  return withClient(other.href, async (client) => {
    await client.query(sql);
    return readCatalog(client);
  });
};

/** PostgreSQL drops a pair of brackets around `(a or b) or c` when it reads its own text back: they carry no meaning. */
const lines = (sql: string): string[] => sql.replace(/[()]/g, '').split('\n');

const EVERY_KIND = `
  create table parents (id bigint generated always as identity primary key, other bigint, words text[] not null default '{}');
  create table children (id bigint primary key references parents, doubled bigint generated always as (id * 2) stored);
  alter table parents add constraint parents_other_fkey foreign key (other) references children deferrable initially deferred;
  create type mood as enum ('good', 'bad');
  create sequence numbers;
  create table lines (at timestamptz not null, feeling mood, body jsonb, primary key (at)) partition by range (at);
  create table lines_2026 partition of lines for values from ('2026-01-01') to ('2027-01-01');
  create index lines_by_feeling on lines (feeling);
  create view good_lines as select at from lines where feeling = 'good';
  alter table children enable row level security;
  alter table children force row level security;
  create policy narrow on children as restrictive for select to gpuaas_app using (exists (select from parents));
  grant select on parents to gpuaas_app;
  grant update (other) on parents to gpuaas_app;
  grant usage on sequence numbers to gpuaas_app;
`;

describe('schema.sql', () => {
  it('is complete: loaded into an empty database it dumps the same again', () =>
    withMigratedDatabase(async (url) => {
      const committed = await readFile(join(ROOT, 'server/schema.sql'), 'utf8');
      assert.deepEqual(lines(schemaText(await catalogAfter(url, 'reloaded', committed))), lines(committed));

      const first = schemaText(await catalogAfter(url, 'kinds', EVERY_KIND));
      assert.deepEqual(lines(schemaText(await catalogAfter(url, 'kinds_again', first))), lines(first));
      for (const part of ['generated always as identity', 'partition of lines', 'as restrictive', 'update (other)'])
        assert.ok(first.includes(part), part);

      await assert.rejects(
        catalogAfter(url, 'strange', 'create materialized view counted as select 1 as one'),
        /does not know: m counted/,
      );
    }));

  it('gives row types that follow nullability, defaults and check constraints', async () => {
    const column = { not_null: true, default: null, generated: '', identity: '', type: 'text' } as const;
    const text = rowTypes({
      extensions: [],
      enums: [{ name: 'mood', labels: ['good', 'bad'] }],
      functions: [],
      sequences: [],
      views: [],
      tables: [
        {
          name: 'some_things',
          partition_key: null,
          partition_of: null,
          partition_bound: null,
          row_security: false,
          row_security_forced: false,
          columns: [
            { ...column, name: 'state', default: "'on'" },
            { ...column, name: 'seen_at', type: 'timestamp with time zone', not_null: false },
            { ...column, name: 'total', type: 'bigint', generated: 's', default: '1' },
            { ...column, name: 'feeling', type: 'mood', not_null: false },
            { ...column, name: 'way' },
          ],
          constraints: [
            {
              name: 'c',
              kind: 'c',
              definition: "CHECK (state = ANY (ARRAY['on'::text, 'off'::text]))",
              columns: ['state'],
              target: null,
            },
            { name: 'd', kind: 'c', definition: "CHECK (way = 'only'::text)", columns: ['way'], target: null },
          ],
          indexes: [],
          triggers: [],
          policies: [],
          grants: [],
        },
      ],
    });
    assert.match(text, /export interface SomeThings \{/);
    assert.match(text, /state: 'on' \| 'off';/);
    assert.match(text, /way: 'only';/);
    assert.match(text, /seen_at: string \| null;/);
    assert.match(text, /total: number;/);
    assert.match(text, /feeling: 'good' \| 'bad' \| null;/);
  });
});
