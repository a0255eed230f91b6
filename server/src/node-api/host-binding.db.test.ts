/** A node is for one host and a live host has one node: at enrollment, at renewal, at every poll, and after a rebind. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { addNode, anyone, callNodeApi, enrollAgent, enrollBody, hostOf, newCsr, newKey } from '../../test/agent.ts';
import { useChannel } from '../../test/channel.ts';
import { until } from '../../test/until.ts';

type Host = Parameters<typeof enrollBody>[2] & object;

const serial = (): string => `SN-${randomUUID().slice(0, 13)}`;
const hostWith = (product_serial: string): Host => ({ product_serial, product_uuid: null, machine_id: null });

describe('the host of a node', () => {
  const channel = useChannel();
  const enroll = async (token: string, host: Host) =>
    callNodeApi(channel().url, anyone(), 'nodeEnroll', await enrollBody(token, newKey(), host));
  const post = async (path: string, body: object) =>
    (await channel().test.admin()).post(`/api/v1/admin/nodes${path}`, body);
  const getNode = async (id: string) => (await (await channel().test.admin()).get(`/api/v1/admin/nodes/${id}`)).body;
  const create = (more: object = {}) =>
    post('', {
      name: `host-${randomUUID().slice(0, 8)}`,
      region_name: 'us-buffalo-1',
      gpu_model: 'H200 SXM',
      gpu_count: 8,
      capacity_mode: 'slice',
      ...more,
    });

  it('another host than the named one is refused by field, audited and announced, and does not use up the token', async () => {
    const wanted = serial();
    const { node, enrollment } = (await create({ host: { product_serial: ` ${wanted.toLowerCase()}` } })).body;
    assert.deepEqual([node.host.state, node.host.product_serial], ['named', wanted.toUpperCase()]);
    const wrong = await enroll(enrollment.token, hostWith(serial()));
    assert.equal(wrong.status, 403);
    assert.match(wrong.body.detail, /serial number .* not the one that the operator named.*token still works/);
    assert.ok(
      !JSON.stringify(wrong.body).toUpperCase().includes(wanted.toUpperCase()),
      'the expected value is not shown',
    );
    const { rows } = channel();
    const audits = await rows<{ metadata: { field: string } }>(
      "select metadata from audit_logs where action = 'node.enroll' and result = 'denied' and target_id = $1",
      [node.id],
    );
    assert.deepEqual(
      audits.map(({ metadata }) => metadata.field),
      ['product_serial'],
    );
    const [event] = await rows<{ count: number }>(
      "select count(*)::int as count from outbox_events where event_type = 'node.host_refused' and subject = $1",
      [node.id],
    );
    assert.equal(event?.count, 1);
    assert.equal((await enroll(enrollment.token, hostWith(wanted))).status, 200);
    const bound = (await getNode(node.id)).host;
    assert.equal(bound.state, 'bound');
    assert.match(bound.bound_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  it('five wrong hosts end a token, also for the right one', async () => {
    const wanted = serial();
    const { enrollment } = (await create({ host: { product_serial: wanted } })).body;
    const details: string[] = [];
    for (let n = 0; n < 5; n++) details.push((await enroll(enrollment.token, hostWith(serial()))).body.detail);
    assert.deepEqual(
      details.map((text) => /has ended/.test(text)),
      [false, false, false, false, true],
    );
    const late = await enroll(enrollment.token, hostWith(wanted));
    assert.equal(late.status, 403);
  });

  it('of two hosts with one token exactly one becomes the node; the same host enrolls again, another does not', async () => {
    const { node, enrollment } = await addNode(channel().test);
    const hosts = [hostWith(serial()), hostWith(serial())] as const;
    const answers = await Promise.all(hosts.map((host) => enroll(enrollment.token, host)));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 403],
    );
    const [first, second] = answers[0]?.status === 200 ? hosts : [hosts[1], hosts[0]];
    const next = (await post(`/${node.id}/enrollment`, { reason: 'expired' })).body;
    assert.equal(next.host.state, 'bound');
    const refused = await enroll(next.token, second);
    assert.match(refused.body.detail, /serial number .* not the one that the node is bound to/);
    assert.equal((await enroll(next.token, first)).status, 200);
    assert.equal((await post(`/${node.id}/enrollment`, { reason: 'x', host: second })).status, 400);
    const named = await post(`/${node.id}/enrollment`, {
      reason: 'x',
      host: { product_serial: second.product_serial },
    });
    assert.equal(named.status, 409);
    assert.match(named.body.detail, /rebind/);
  });

  it('a host has one live node: naming or enrolling it twice is refused, and possible after the first is retired', async () => {
    const wanted = serial();
    const first = (await create({ host: { product_serial: wanted } })).body;
    const twice = await create({ host: { product_serial: wanted } });
    assert.equal(twice.status, 409);
    assert.ok(twice.body.detail.includes(first.node.name), 'operators read which node has it');
    const second = (await create()).body;
    const refused = await enroll(second.enrollment.token, hostWith(wanted));
    assert.equal(refused.status, 403);
    assert.match(refused.body.detail, /Another node is registered for this host/);
    assert.ok(!refused.body.detail.includes(first.node.name), 'the host is not told which');
    const { rows } = channel();
    const [audit] = await rows<{ metadata: { other_node_id: string } }>(
      "select metadata from audit_logs where action = 'node.enroll' and result = 'denied' and target_id = $1",
      [second.node.id],
    );
    assert.equal(audit?.metadata.other_node_id, first.node.id);
    // The database refuses it as well, whatever the application does.
    await assert.rejects(
      channel().change('insert into node_hosts (node_id, product_serial, bound_at) values ($1, $2, now())', [
        second.node.id,
        wanted.toUpperCase(),
      ]),
      /node_hosts_serial/,
    );
    assert.equal((await post(`/${first.node.id}/retire`, { reason: 'sold' })).status, 200);
    assert.equal((await enroll(second.enrollment.token, hostWith(wanted))).status, 200);
  });

  it('a placeholder identifies nothing: it cannot be named, and a host with nothing else is refused', async () => {
    const named = await create({ host: { product_serial: 'To Be Filled By O.E.M.' } });
    assert.equal(named.status, 400);
    assert.equal(named.body.errors[0].pointer, '/body/host/product_serial');
    const [a, b] = [(await create()).body, (await create()).body];
    const empty = { product_serial: 'Default string', product_uuid: '00000000-0000-0000-0000-000000000000' };
    const refused = await enroll(a.enrollment.token, { ...empty, machine_id: null });
    assert.match(refused.body.detail, /systemd-machine-id-setup/);
    // Two hosts with the same placeholders are two hosts; a cloned machine ID is left out where the board is known.
    const machine_id = randomUUID().replaceAll('-', '');
    assert.equal((await enroll(a.enrollment.token, { ...empty, machine_id })).status, 200);
    assert.equal((await enroll(b.enrollment.token, { ...empty, machine_id })).status, 403);
    assert.equal((await enroll(b.enrollment.token, { ...empty, product_serial: serial(), machine_id })).status, 200);
    assert.equal((await getNode(b.node.id)).host.machine_id, null);
  });

  it('a certificate on another host gets no task and is not renewed', async () => {
    const { node, enrollment } = await addNode(channel().test);
    const agent = await enrollAgent(channel().url, enrollment);
    assert.equal((await agent.wait()).status, 200);
    const elsewhere = agent.again();
    const poll = await elsewhere.wait({ host: hostWith(serial()) });
    assert.equal(poll.status, 403);
    assert.match(poll.body.detail, /serial number .* bound to/);
    await channel().change(
      "update node_certificates set not_before = not_before - interval '25 hours' where node_id = $1",
      [node.id],
    );
    const other = agent.again();
    const renewal = await other.call('certificateRenew', { csr_pem: await newCsr(newKey()), host: hostWith(serial()) });
    assert.equal(renewal.status, 403);
    const own = await agent
      .again()
      .call('certificateRenew', { csr_pem: await newCsr(newKey()), host: hostOf(node.id) });
    assert.equal(own.status, 200);
    for (const one of [agent, elsewhere, other]) one.close();
  });

  it('a node that enrolled before hosts were bound is bound by its next poll, unless another node has the host', async () => {
    const { change, rows, test, url } = channel();
    const unbind = (id: string) =>
      change("update node_hosts set ended_at = clock_timestamp(), ended_reason = 'before' where node_id = $1", [id]);
    const one = await addNode(test);
    const agent = await enrollAgent(url, one.enrollment);
    await unbind(one.node.id);
    const fresh = agent.again();
    assert.equal((await fresh.wait()).status, 200);
    await until('the node is bound', async () => (await getNode(one.node.id)).host.state === 'bound');
    assert.equal((await fresh.wait({ host: hostWith(serial()) })).status, 403);

    const two = await addNode(test);
    const twin = await enrollAgent(url, two.enrollment);
    await unbind(two.node.id);
    const again = twin.again();
    await until('the twin gets no tasks', async () => {
      const answer = await again.wait({ host: hostOf(one.node.id) });
      return /Another node is registered/.test(answer.body.no_tasks_reason ?? '');
    });
    assert.equal((await getNode(two.node.id)).host.state, 'unbound');
    const refusals = await rows("select 1 from audit_logs where action = 'node.host.refuse' and target_id = $1", [
      two.node.id,
    ]);
    assert.equal(refusals.length, 1);
    for (const each of [agent, fresh, twin, again]) each.close();
  });
});

describe('a site that requires named hosts', () => {
  const channel = useChannel({ requires_named_host: true });

  it('creates no token for whichever host comes first, and one for the host that an operator named', async () => {
    const admin = await channel().test.admin();
    const body = { region_name: 'us-buffalo-1', gpu_model: 'H200 SXM', gpu_count: 8, capacity_mode: 'slice' };
    const name = `host-${randomUUID().slice(0, 8)}`;
    const refused = await admin.post('/api/v1/admin/nodes', { ...body, name });
    assert.deepEqual([refused.status, refused.body.errors?.[0]?.pointer], [400, '/body/host']);
    const wanted = serial();
    const made = await admin.post('/api/v1/admin/nodes', { ...body, name, host: { product_serial: wanted } });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { node, enrollment } = made.body;
    const enroll = async (token: string) =>
      callNodeApi(channel().url, anyone(), 'nodeEnroll', await enrollBody(token, newKey(), hostWith(wanted)));
    assert.equal((await enroll(enrollment.token)).status, 200);
    const again = await admin.post(`/api/v1/admin/nodes/${node.id}/enrollment`, { reason: 'the certificate expired' });
    assert.equal(again.status, 201, 'a node that has a host needs no name');
    await admin.post(`/api/v1/admin/nodes/${node.id}/drain`, { is_draining: true, reason: 'a new board' });
    const rebind = (more: object) =>
      admin.post(`/api/v1/admin/nodes/${node.id}/rebind`, { reason: 'a new board', ...more });
    const unnamed = await rebind({});
    assert.deepEqual(
      [unnamed.status, unnamed.body.errors?.[0]?.pointer],
      [400, '/body/host'],
      JSON.stringify(unnamed.body),
    );
    assert.equal((await rebind({ host: { product_serial: serial() } })).status, 201);
  });
});
