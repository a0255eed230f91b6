import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Client, type PoolClient } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';
import type { User } from '../../test/tenants.ts';

const newName = () => `n-${randomUUID().slice(0, 8)}`;

describe('failed transactions', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let test: TestApp;
  let ada: User;
  let sql: Client;

  before(async () => {
    test = await startTestApp(t);
    ada = await test.user('ada');
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
    t.after(() => sql.end());
    // A sequence is not rolled back, so it counts the attempts of transactions that were.
    await sql.query(
      `create sequence attempts; grant all on sequence attempts to public;
       create function lose() returns trigger language plpgsql as $$
       begin
         if nextval('attempts') <= tg_argv[1]::int then raise exception 'injected' using errcode = tg_argv[0]; end if;
         return new;
       end $$;`,
    );
  });
  after(async () => {
    for (const close of closers) await close();
  });

  /** The first `times` inserts into the table fail with this SQLSTATE. */
  const losing = async <T>(table: string, state: string, times: number, fn: () => Promise<T>): Promise<[T, number]> => {
    await sql.query(
      `alter sequence attempts restart; create trigger lose before insert on ${table} for each row execute function lose('${state}', ${times})`,
    );
    try {
      const result = await fn();
      return [result, Number((await sql.query('select last_value from attempts')).rows[0].last_value)];
    } finally {
      await sql.query(`drop trigger lose on ${table}`);
    }
  };
  const create = (name = newName()) => ada.post(`/api/v1/organizations/${ada.organization_id}/projects`, { name });

  for (const [what, state] of [
    ['a serialization failure', '40001'],
    ['a deadlock', '40P01'],
  ] as const) {
    it(`${what} is retried and the caller does not see it`, async () => {
      const [answer, attempts] = await losing('projects', state, 2, create);
      assert.deepEqual([answer.status, attempts], [201, 3]);
    });

    it(`${what} that persists is 503 after five attempts, never 500`, async () => {
      const [answer, attempts] = await losing('projects', state, 1_000, create);
      assert.deepEqual([answer.status, answer.body.code, attempts], [503, 'unavailable', 5]);
      assert.ok(Number(answer.headers['retry-after']) > 0);
    });
  }

  it('a failed transaction without a waiting request is retried too', async () => {
    const other = await test.user('other');
    await sql.query("insert into tenant_memberships (organization_id, user_id, role) values ($1, $2, 'member')", [
      ada.organization_id,
      other.me.id,
    ]);
    const path = `/api/v1/organizations/${ada.organization_id}/members/${other.me.id}`;
    const [answer] = await losing('outbox_events', '40001', 2, () =>
      ada.call('PATCH', path, { role: 'viewer' }, { 'if-match': '"v1"' }),
    );
    assert.deepEqual([answer.status, answer.body.role], [200, 'viewer']);
  });

  for (const [what, state, status] of [
    ['a full disk', '53100', 503],
    ['a cancelled statement', '57014', 503],
    ['a server that shuts down', '57P01', 503],
    ['a broken rule of ours', '23514', 500],
  ] as const)
    it(`${what} is ${status}, and leaves nothing behind`, async () => {
      const name = newName();
      const [answer] = await losing('audit_logs', state, 1, () => create(name));
      assert.equal(answer.status, status);
      assert.equal((await sql.query('select from projects where name = $1', [name])).rowCount, 0);
      assert.doesNotMatch(JSON.stringify(answer.body), /injected/);
    });

  it('a connection that breaks while in use does not end the process', async () => {
    const held = await test.app.deps.database.connect();
    const { rows } = await held.query<{ pid: number }>('select pg_backend_pid() as pid');
    const gone = new Promise((resolve) => held.once('end', resolve));
    await sql.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    await gone;
    held.release(true);
    assert.equal((await create()).status, 201);
  });

  describe('no connection is free', () => {
    let small: TestApp;
    let grace: User;
    before(async () => {
      small = await startTestApp(t, { database_pool_max: 3, roles: ['gpuaas-api'] });
      grace = await small.user('grace');
    });

    const exhaust = async (): Promise<() => void> => {
      const asked = Array.from({ length: 3 }, () => small.app.deps.database.connect());
      const held = (await Promise.allSettled(asked)).flatMap((one): PoolClient[] =>
        one.status === 'fulfilled' ? [one.value] : [],
      );
      assert.ok(held.length > 0);
      return () => {
        for (const client of held) client.release();
      };
    };
    const projects = () => `/api/v1/organizations/${grace.organization_id}/projects`;

    it('a request waits two seconds, then returns 503, and readiness reports it', async () => {
      const release = await exhaust();
      const started = performance.now();
      const [read, write, ready, alive] = await Promise.all([
        grace.get(projects()),
        grace.post(projects(), { name: newName() }),
        small.bearer(null).get('/readyz'),
        small.bearer(null).get('/healthz'),
      ]);
      const waited = performance.now() - started;
      release();
      for (const answer of [read, write]) {
        assert.deepEqual([answer.status, answer.body.code], [503, 'unavailable']);
        assert.ok(Number(answer.headers['retry-after']) > 0);
      }
      assert.deepEqual([ready.status, ready.body.ready, alive.status], [503, false, 200]);
      assert.ok(waited > 1_900 && waited < 4_000, `waited ${Math.round(waited)} ms`);
      assert.equal((await grace.get(projects())).status, 200);
      assert.equal((await small.bearer(null).get('/readyz')).status, 200);
    });

    it('a connection freed in time goes to the waiting request', async () => {
      const release = await exhaust();
      const waiting = grace.get(projects());
      setTimeout(release, 300);
      assert.equal((await waiting).status, 200);
    });
  });
});
