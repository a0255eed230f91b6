import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { aRecordedSession, aSession, RECORDED } from '../../test/access.ts';
import { type Caller, startTestApp, testClock } from '../../test/app.ts';
import type { TestAllocation } from '../../test/placement.ts';
import { newActive } from '../../test/scenarios-allocation.ts';
import { makeTenants, must, type Tenants } from '../../test/tenants.ts';

describe('sessions', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let tenants: Tenants;
  let slice: TestAllocation;

  before(async () => {
    const clock = testClock();
    tenants = await makeTenants(t, await startTestApp(t, {}, { clock }), clock);
    slice = await newActive(tenants);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const actor = (name: string): Caller => tenants.actors[name]?.caller ?? assert.fail(name);
  const path = (allocation: TestAllocation, rest = '') =>
    `/api/v1/projects/${tenants.acme.ids.project_id}/allocations/${allocation.id}/sessions${rest}`;
  const rowOf = async (id: string) =>
    (await tenants.sql.query('select * from terminal_sessions where id = $1', [id])).rows[0];
  const idOf = async (name: string): Promise<string> => must(await actor(name).get('/api/v1/me'), 200).body.id;

  it('are listed newest first, page by page, without expired unused tickets', async () => {
    const allocation = await newActive(tenants);
    const ids: string[] = [];
    for (const state of ['closed', 'open', 'opening', 'ticketed'])
      ids.push(await aSession(tenants.sql, allocation, { state, principal_id: tenants.acme.owner.me.id }));
    const stale = await aSession(tenants.sql, allocation, {
      state: 'ticketed',
      principal_id: tenants.acme.owner.me.id,
    });
    await tenants.sql.query(
      "update terminal_sessions set ticket_expires_at = now() - interval '1 second' where id = $1",
      [stale],
    );
    const first = must(await actor('viewer').get(path(allocation, '?limit=3')), 200).body;
    const second = must(await actor('viewer').get(path(allocation, `?limit=3&cursor=${first.next_cursor}`)), 200).body;
    const listed = [...first.items, ...second.items].map(({ id }: { id: string }) => id);
    assert.deepEqual(listed, ids.toSorted().toReversed());
    assert.equal(second.next_cursor, null);
    assert.equal(first.items[0].principal_name, 'Another user');
  });

  it('of one allocation are not found under another', async () => {
    const id = await aRecordedSession(tenants.sql, slice, tenants.acme.owner.me);
    const other = await newActive(tenants);
    for (const rest of [`/${id}`, `/${id}/recording`])
      assert.equal((await tenants.acme.owner.get(path(other, rest))).status, 404);
  });

  it('that are open are asked to end; unopened ones end immediately with their ticket', async () => {
    const { id: owner } = tenants.acme.owner.me;
    const open = await aSession(tenants.sql, slice, { state: 'open', principal_id: owner });
    must(await tenants.acme.owner.call('DELETE', path(slice, `/${open}`)), 204);
    const asked = await rowOf(open);
    assert.deepEqual([asked.state, asked.close_requested_by, asked.closed_at], ['open', owner, null]);
    const unused = await aSession(tenants.sql, slice, { state: 'ticketed', principal_id: owner });
    must(await tenants.acme.owner.call('DELETE', path(slice, `/${unused}`)), 204);
    const over = await rowOf(unused);
    assert.deepEqual([over.state, over.ticket_hash, over.end_reason], ['closed', null, 'ended']);
    // Twice has the effect of once.
    must(await tenants.acme.owner.call('DELETE', path(slice, `/${unused}`)), 204);
    assert.deepEqual(await rowOf(unused), over);
  });

  it('are ended by their owner or a project admin, and by no other user', async () => {
    const mine = await aSession(tenants.sql, slice, { state: 'open', principal_id: await idOf('project_member') });
    const end = (name: string) => actor(name).call('DELETE', path(slice, `/${mine}`));
    for (const name of ['project_viewer', 'viewer']) assert.equal((await end(name)).status, 403, name);
    assert.equal((await rowOf(mine)).close_requested_by, null);
    for (const name of ['project_admin', 'admin', 'project_member']) assert.equal((await end(name)).status, 204, name);
    const theirs = await aSession(tenants.sql, slice, { state: 'open', principal_id: await idOf('project_admin') });
    assert.equal((await actor('project_member').call('DELETE', path(slice, `/${theirs}`))).status, 403);
  });

  it('that were recorded are read line by line across their parts, until their retention ends', async () => {
    const id = await aRecordedSession(tenants.sql, slice, tenants.acme.owner.me);
    const answer = must(await actor('project_admin').get(path(slice, `/${id}/recording`)), 200);
    assert.match(answer.headers['content-type'] ?? '', /^application\/jsonl/);
    const lines = String(answer.body).trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      RECORDED,
    );
    assert.equal((await actor('project_member').get(path(slice, `/${id}/recording`))).status, 403);
    await tenants.sql.query(
      "update terminal_recordings set keep_until = now() - interval '1 second' where session_id = $1",
      [id],
    );
    assert.equal((await tenants.acme.owner.get(path(slice, `/${id}/recording`))).status, 404);
  });
});
