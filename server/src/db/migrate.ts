/**
 * Forward-only migrations: numbered SQL files, each in its own transaction, each recorded with its digest. A file that
 * changed after it was applied is refused: history is not edited. Several processes may start at once; one migrates.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Log } from '@gpuaas/kit';
import type { Client } from 'pg';
import { connectOnce } from './database-url.ts';

export const MIGRATIONS_DIR = fileURLToPath(new URL('../../migrations/', import.meta.url));
export const APP_ROLE = 'gpuaas_app';
const LOCK_KEY = 4_752_001;
const SERVER_VERSION_MIN = 150_000;

type Migration = Readonly<{ name: string; sql: string; sha256: string }>;

export const readMigrations = async (dir: string = MIGRATIONS_DIR): Promise<Migration[]> => {
  const names = (await readdir(dir)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(`${dir}/${name}`, 'utf8');
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
    }),
  );
};

/**
 * Roles belong to the cluster, not the database, so several databases may race to create this one. From PostgreSQL 16
 * on membership does not include the right to switch to a role, so that right is checked.
 */
const ensureAppRole = (client: Client) =>
  client.query(`do $$ declare may text := case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end; begin
    begin
      if not exists (select from pg_roles where rolname = '${APP_ROLE}') then create role ${APP_ROLE} nologin; end if;
    exception when duplicate_object or unique_violation then null;
    end;
    if not pg_has_role(current_user, '${APP_ROLE}', may) then execute format('grant ${APP_ROLE} to %I', current_user); end if;
  end $$`);

export const migrate = async (
  options: Readonly<{ url: string; log: Log; dir?: string }>,
): Promise<readonly string[]> => {
  const client = await connectOnce(options.url);
  try {
    const version = await client.query<{ v: number }>("select current_setting('server_version_num')::int as v");
    if ((version.rows[0]?.v ?? 0) < SERVER_VERSION_MIN) throw new Error('PostgreSQL 15 or newer is needed.');
    await client.query('select pg_advisory_lock($1)', [LOCK_KEY]);
    await ensureAppRole(client);
    await client.query(`create table if not exists schema_migrations
      (name text primary key, sha256 text not null, applied_at timestamptz not null default now())`);
    await client.query(`grant select on schema_migrations to ${APP_ROLE}`);
    const applied = await client.query<{ name: string; sha256: string }>('select name, sha256 from schema_migrations');
    const done = new Map(applied.rows.map((row) => [row.name, row.sha256]));
    const fresh: string[] = [];
    for (const migration of await readMigrations(options.dir)) {
      const known = done.get(migration.name);
      if (known === migration.sha256) continue;
      if (known !== undefined)
        throw new Error(`Migration ${migration.name} was changed after it was applied; add a new one instead.`);
      await client.query('begin');
      await client.query(migration.sql);
      await client.query('insert into schema_migrations (name, sha256) values ($1, $2)', [
        migration.name,
        migration.sha256,
      ]);
      await client.query('commit');
      options.log.info({ migration: migration.name }, 'migration applied');
      fresh.push(migration.name);
    }
    return fresh;
  } finally {
    await client.end();
  }
};
