import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { assertInvariants } from '../../test/invariants.ts';
import { acmeStage, auditRowsOf, must } from '../../test/tenants.ts';

const ADMIN = '/api/v1/admin/quota-requests';

describe('quota requests', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let stage: Awaited<ReturnType<typeof acmeStage>>;

  before(async () => {
    stage = await acmeStage(t);
    const { sql, acme } = stage.tenants;
    await sql.query("update quotas set gpu_limit = 1 where organization_id = $1 and project_id = ''", [
      acme.organization_id,
    ]);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const ask = (body: object) => stage.owner.post(`${stage.org}/quota-requests`, { reason: 'A larger run', ...body });
  const quota = async () => must(await stage.owner.get(`${stage.project}/quota`), 200).body;
  const eventsOf = async (id: string) =>
    (
      await stage.tenants.sql.query(
        'select event_type, organization_id, data from outbox_events where subject = $1 order by id',
        [id],
      )
    ).rows;

  it('are one per limit at a time, also when sent at once', async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask({ gpu_limit: 4 })));
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [201, 409, 409, 409],
    );
    for (const { body } of answers.filter(({ status }) => status === 409)) assert.equal(body.code, 'already_exists');
    const { id } = answers.find(({ status }) => status === 201)?.body ?? {};
    must(await stage.owner.call('DELETE', `${stage.org}/quota-requests/${id}`), 204);
    assert.equal((await stage.owner.call('DELETE', `${stage.org}/quota-requests/${id}`)).status, 409);
    assert.deepEqual(
      (await eventsOf(id)).map((row) => [row.event_type, row.data.state]),
      [
        ['quota.requested', undefined],
        ['quota.decided', 'withdrawn'],
      ],
    );
  });

  it('are refused where they ask for no more, or for a project of another tenant', async () => {
    const same = await ask({ gpu_limit: 1 });
    assert.deepEqual([same.status, same.body.code], [409, 'conflict']);
    assert.match(same.body.detail, /The limit is 1 already/);
    const unlimited = await ask({ gpu_limit: 100, project_id: stage.tenants.acme.ids.project_id });
    assert.match(unlimited.body.detail, /no GPU limit at this level/);
    assert.equal((await ask({ gpu_limit: 100, project_id: stage.tenants.rival.ids.project_id })).status, 404);
  });

  it('approved, set the limit once, with the event and the row in the audit log of the tenant', async () => {
    const { superadmin, acme, test } = stage.tenants;
    const { id } = must(await ask({ gpu_limit: 6 }), 201).body;
    const less = await superadmin.post(`${ADMIN}/${id}/approve`, { gpu_limit: 5 });
    assert.deepEqual([less.status, less.body.errors[0].pointer], [400, '/body/reason']);
    const approve = (n: number) =>
      superadmin.post(
        `${ADMIN}/${id}/approve`,
        { gpu_limit: 5, reason: 'More in January' },
        { 'x-correlation-id': `quota-approve-${n}` },
      );
    const answers = await Promise.all([approve(1), approve(2)]);
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [200, 409],
    );
    const won = answers[0]?.status === 200 ? 1 : 2;
    const [row] = await auditRowsOf(stage.tenants, `quota-approve-${won}`);
    assert.deepEqual(
      [row.action, row.organization_id, row.target_id],
      ['quota_request.approve', acme.organization_id, id],
    );
    assert.equal((await quota()).organization.gpu_limit, 5);
    const listed = must(await stage.owner.get(`${stage.org}/quota-requests?state=approved`), 200).body.items;
    assert.deepEqual(
      listed.map((one: Record<string, unknown>) => [one['id'], one['granted_gpu_limit'], one['decision_reason']]),
      [[id, 5, 'More in January']],
    );
    const [shown] = listed;
    assert.deepEqual([shown.project_name, shown.current_gpu_limit], [null, 5]);
    assert.match(shown.organization_name, /^[a-z0-9-]+$/);
    const last = (await eventsOf(id)).at(-1);
    assert.deepEqual(
      [last.event_type, last.organization_id, last.data.state, last.data.granted_gpu_limit],
      ['quota.decided', acme.organization_id, 'approved', 5],
    );
    await assertInvariants(test.db.database);
  });

  it('for the whole organization reach its stream, with the decision, and no other tenant', async () => {
    const { superadmin, acme, rival, actors, test } = stage.tenants;
    const path = (of: string) => `/api/v1/organizations/${of}/events`;
    const { url } = test.app;
    const left = new AbortController();
    const { body } = await fetch(`${url}${path(acme.organization_id)}/stream`, {
      headers: { authorization: `Bearer ${acme.owner.token}` },
      signal: left.signal,
    });
    const lines = createInterface({ input: Readable.from(body ?? assert.fail('no stream')) })[Symbol.asyncIterator]();
    const heard: object[] = [];
    const hear = async (last: string): Promise<void> => {
      for (let line = await lines.next(); !line.done; line = await lines.next()) {
        if (!line.value.startsWith('data: ')) continue;
        const { type, subject, projectid, data } = JSON.parse(line.value.slice('data: '.length));
        heard.push({ type, subject, projectid, state: data.state });
        if (type === last) return;
      }
    };
    const { id } = must(await ask({ gpu_limit: 7 }), 201).body;
    must(await superadmin.post(`${ADMIN}/${id}/reject`, { reason: 'Not this month' }), 200);
    await hear('quota.decided');
    left.abort();
    assert.deepEqual(heard, [
      { type: 'quota.requested', subject: id, state: undefined, projectid: undefined },
      { type: 'quota.decided', subject: id, state: 'rejected', projectid: undefined },
    ]);

    const listed = async (caller: typeof acme.owner, of: string): Promise<string[]> =>
      must(await caller.get(`${path(of)}?type=quota.decided&limit=200`), 200).body.items.map(
        (event: { subject: string }) => event.subject,
      );
    assert.ok((await listed(acme.owner, acme.organization_id)).includes(id));
    assert.ok(!(await listed(rival.owner, rival.organization_id)).includes(id));
    assert.equal((await rival.owner.get(path(acme.organization_id))).status, 404);
    assert.equal(
      (await actors['member']?.caller.get(path(acme.organization_id)))?.status,
      403,
      'a member sees some projects only',
    );
  });

  it('rejected, leave the limit and state the reason', async () => {
    const { superadmin } = stage.tenants;
    const before = (await quota()).organization;
    const { id } = must(await ask({ gpu_limit: 50 }), 201).body;
    must(await superadmin.post(`${ADMIN}/${id}/reject`, { reason: 'No hosts are free' }), 200);
    assert.deepEqual((await quota()).organization, before);
    assert.equal((await superadmin.post(`${ADMIN}/${id}/approve`, {})).status, 409);
  });

  it('are not approved where the limit already reaches what would be granted', async () => {
    const { superadmin, acme, sql } = stage.tenants;
    const set = (limit: number | null) =>
      sql.query("update quotas set gpu_limit = $2 where organization_id = $1 and project_id = ''", [
        acme.organization_id,
        limit,
      ]);
    const before = (await quota()).organization.gpu_limit;
    const { id } = must(await ask({ gpu_limit: 20 }), 201).body;
    for (const limit of [32, 20, null]) {
      await set(limit);
      const refused = await superadmin.post(`${ADMIN}/${id}/approve`, {});
      assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
      assert.match(refused.body.detail, /Reject the request/);
      assert.equal((await quota()).organization.gpu_limit, limit);
    }
    await set(32);
    must(await superadmin.post(`${ADMIN}/${id}/approve`, { gpu_limit: 40, reason: 'More came' }), 200);
    assert.equal((await quota()).organization.gpu_limit, 40);
    await set(before);
  });

  it('are the remedy that the refusal of a launch names', async () => {
    const refused = await stage.owner.post(`${stage.project}/allocations`, {
      name: 'too-large',
      sku_name: 'h200-sxm-slice',
      region_name: 'us-buffalo-1',
      gpu_count: 8,
      ssh_key_ids: [stage.tenants.acme.ids.ssh_key_id],
    });
    assert.deepEqual([refused.status, refused.body.code], [409, 'quota_exceeded'], JSON.stringify(refused.body));
    assert.match(refused.body.detail, /left in the quota\..*gpuaas quota request --gpus/);
  });
});
