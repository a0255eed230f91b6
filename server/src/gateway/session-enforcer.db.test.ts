import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SESSION_CLOSE_CODES } from '@gpuaas/contract/stream';
import { mintId } from '@gpuaas/kit';
import { testClock } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { asEnd, joinedGateway, type Stage, type TestGateway } from '../../test/gateway.ts';
import { until } from '../../test/until.ts';

const HOUR_MS = 3_600_000;

describe('a session without permission to continue', () => {
  const closers: (() => Promise<void>)[] = [];
  const clock = testClock();
  let at: TestGateway;
  before(async () => {
    at = await joinedGateway({ after: (fn) => void closers.unshift(fn) }, {}, { clock });
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const policy = (stage: Stage, settings: string) =>
    at.channel
      .change(`insert into access_policies (organization_id) values ($1) on conflict do nothing`, [
        stage.user.organization_id,
      ])
      .then(() =>
        at.channel.change(`update access_policies set ${settings} where organization_id = $1`, [
          stage.user.organization_id,
        ]),
      );

  const aToken = async (stage: Stage, scopes: readonly string[] = ['all']): Promise<string> => {
    const answer = await stage.user.post('/api/v1/tokens', {
      name: `t-${mintId('x').slice(-8)}`,
      scopes,
      expires_in_s: 3600,
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body.api_token.id;
  };

  const aServiceAccount = async (stage: Stage): Promise<string> => {
    const { user } = stage;
    const answer = await user.post(`/api/v1/projects/${user.project_id}/service-accounts`, { name: 'robot' });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body.service_account.id;
  };

  const endsWith = async (
    stage: Stage,
    open: Awaited<ReturnType<Stage['session']>>,
    reason: string,
    takeAway: () => Promise<unknown>,
  ): Promise<void> => {
    await takeAway();
    await until('both ends see it', () => open.client.words.at(-1)?.type === 'closed');
    const { message } = open.client.words.at(-1);
    assert.deepEqual([open.client.words.at(-1).reason, typeof message], [reason, 'string']);
    await open.host.closed();
    await until('the row is closed', async () => (await stage.row(open.session_id)).state === 'closed');
    const row = await stage.row(open.session_id);
    assert.deepEqual([row.end_reason, row.end_message], [reason, message]);
    const [audit] = await at.channel.rows<{ actor_kind: string; reason: string }>(
      `select actor_kind, metadata ->> 'reason' as reason from audit_logs where target_id = $1 and action = 'allocation.session.close'`,
      [open.session_id],
    );
    assert.deepEqual(audit, { actor_kind: 'system', reason });
  };

  it('ends when its allocation is released', async () => {
    const stage = await at.stage();
    await endsWith(stage, await stage.session(), 'released', () =>
      at.channel.change(
        "update allocations set state = 'releasing', release_requested_at = clock_timestamp() where id = $1",
        [stage.allocation.id],
      ),
    );
  });

  it('ends when its VM is switched off', async () => {
    const stage = await at.stage();
    await endsWith(stage, await stage.session(), 'released', () =>
      at.channel.change("update allocations set power_state = 'off', power_since = clock_timestamp() where id = $1", [
        stage.allocation.id,
      ]),
    );
  });

  it('ends when its user leaves the organization', async () => {
    const stage = await at.stage();
    await endsWith(stage, await stage.session(), 'revoked', () =>
      at.channel.change('delete from tenant_memberships where organization_id = $1 and user_id = $2', [
        stage.user.organization_id,
        stage.user.me.id,
      ]),
    );
  });

  it('ends when its role becomes read-only, and a read-only console continues', async () => {
    const stage = await at.stage();
    const console = await stage.session({ kind: 'console', is_writable: false });
    await endsWith(stage, await stage.session(), 'revoked', async () => {
      const who = [stage.user.project_id, stage.user.me.id];
      await at.channel.change('delete from project_memberships where project_id = $1 and user_id = $2', who);
      await at.channel.change(
        "update tenant_memberships set role = 'viewer' where organization_id = $1 and user_id = $2",
        [stage.user.organization_id, stage.user.me.id],
      );
    });
    assert.equal(console.client.words.at(-1).type, 'ready');
    await endsWith(stage, console, 'revoked', () =>
      at.channel.change("update tenant_memberships set role = 'member' where organization_id = $1 and user_id = $2", [
        stage.user.organization_id,
        stage.user.me.id,
      ]),
    );
  });

  it('ends when the token that opened it is revoked', async () => {
    const stage = await at.stage();
    const credential_id = await aToken(stage);
    await endsWith(stage, await stage.session({ credential_id }), 'revoked', () =>
      stage.user.call('DELETE', `/api/v1/tokens/${credential_id}`),
    );
  });

  it('ends when the token that opened it expires', async () => {
    const stage = await at.stage();
    const credential_id = await aToken(stage);
    await endsWith(stage, await stage.session({ credential_id }), 'revoked', () =>
      at.channel.change('update api_tokens set expires_at = clock_timestamp() where id = $1', [credential_id]),
    );
  });

  const aBrowser = async (stage: Stage, id = mintId('wse')) => {
    await at.channel.change(
      `insert into web_sessions (id, user_id, token_hash, idle_expires_at, expires_at)
       values ($1::text, $2, sha256($1::text::bytea), clock_timestamp() + interval '1 hour', clock_timestamp() + interval '1 hour')`,
      [id, stage.user.me.id],
    );
    return { credential_id: id, credential_expires_at: new Date(Date.now() + 3_600_000).toISOString() };
  };

  it('ends when the web session that opened it is signed out', async () => {
    const stage = await at.stage();
    const credential = await aBrowser(stage);
    const open = await stage.session(credential);
    await endsWith(stage, open, 'revoked', () =>
      stage.user.call('DELETE', `/api/v1/web-sessions/${credential.credential_id}`),
    );
    assert.match(open.client.words.at(-1).message, /browser that opened the session signed out/);
  });

  it('outlives an idle or expired web session, unless the policy forbids it', async () => {
    const stage = await at.stage();
    await policy(stage, 'ends_with_sign_in = false');
    const credential = await aBrowser(stage);
    const gone = { ...(await aBrowser(stage)), credential_expires_at: new Date().toISOString() };
    await at.channel.change('delete from web_sessions where id = $1', [gone.credential_id]);
    const [idle, over] = [await stage.session(credential), await stage.session(gone)];
    await at.channel.change(
      "update web_sessions set idle_expires_at = clock_timestamp() - interval '1 second' where id = $1",
      [credential.credential_id],
    );
    const another = await aBrowser(stage);
    const witness = await stage.session(another);
    await at.channel.change('delete from web_sessions where id = $1', [another.credential_id]);
    await until('everyone was looked at', () => witness.client.words.at(-1)?.type === 'closed');
    assert.deepEqual([idle.client.words.at(-1).type, over.client.words.at(-1).type], ['ready', 'ready']);
    await endsWith(stage, idle, 'revoked', () => policy(stage, 'ends_with_sign_in = true'));
    await until('both have ended', () => over.client.words.at(-1)?.type === 'closed');
    assert.match(over.client.words.at(-1).message, /sign-in that opened the session has expired/);
  });

  it('ends with its sign-in where the policy requires it, and not otherwise', async () => {
    const stage = await at.stage();
    const credential_expires_at = new Date().toISOString();
    const open = await stage.session({ credential_expires_at });
    await policy(stage, 'ends_with_sign_in = false');
    assert.equal(at.gateway.registry.find(open.session_id)?.activity().waiting_ms, null);
    await endsWith(stage, open, 'revoked', () => policy(stage, 'ends_with_sign_in = true'));
  });

  it('ends when the policy forbids unrecorded access, and no earlier ticket opens one', async () => {
    const stage = await at.stage();
    const { ticket } = await stage.ticket({});
    const open = await stage.session();
    await endsWith(stage, open, 'revoked', () => policy(stage, 'requires_recording = true'));
    assert.match(open.client.words.at(-1).message, /not recorded/);
    const late = await stage.client(ticket);
    assert.equal('status' in late && late.status, 403);
  });

  it('ends when its project forbids unrecorded access, with the sentence about the project', async () => {
    const stage = await at.stage();
    const open = await stage.session();
    await endsWith(stage, open, 'revoked', () =>
      at.channel.change('update projects set requires_recording = true where id = $1', [stage.user.project_id]),
    );
    assert.match(open.client.words.at(-1).message, /^This project forbids sessions that are not recorded/);
  });

  it('ends when its account is disabled', async () => {
    const stage = await at.stage();
    await endsWith(stage, await stage.session(), 'revoked', () =>
      at.channel.change("update users set state = 'disabled' where id = $1", [stage.user.me.id]),
    );
  });

  it('of a service account ends when the account is disabled, or the policy excludes service accounts', async () => {
    const stage = await at.stage();
    const principal = { principal_id: await aServiceAccount(stage), principal_kind: 'service_account' } as const;
    const early = await stage.client((await stage.ticket(principal)).ticket);
    assert.equal('status' in early && early.status, 403);
    await policy(stage, 'allows_service_accounts = true');
    await endsWith(stage, await stage.session(principal), 'revoked', () =>
      policy(stage, 'allows_service_accounts = false'),
    );
    await policy(stage, 'allows_service_accounts = true');
    await endsWith(stage, await stage.session(principal), 'revoked', () =>
      at.channel.change("update service_accounts set state = 'disabled' where id = $1", [principal.principal_id]),
    );
  });

  it('ends when closing is requested', async () => {
    const stage = await at.stage();
    await endsWith(stage, await stage.session(), 'ended', () =>
      at.channel.change('update terminal_sessions set close_requested_by = $1 where allocation_id = $2', [
        'usr_manager',
        stage.allocation.id,
      ]),
    );
  });

  it('ends at its maximum duration, even when the policy shortens it while open', async () => {
    const stage = await at.stage();
    await endsWith(stage, await stage.session({ lives_s: 1 }), 'expired', async () => {});
    const open = await stage.session();
    await at.channel.change(
      "update terminal_sessions set created_at = created_at - interval '10 minutes' where id = $1",
      [open.session_id],
    );
    await endsWith(stage, open, 'expired', () => policy(stage, 'session_max_s = 300'));
  });

  it('ends after the idle time of the policy; bytes from either end keep it open', async () => {
    const stage = await at.stage();
    await policy(stage, 'session_idle_s = 60');
    const [busy, idle] = [await stage.session(), await stage.session()];
    clock.advance(59_000);
    busy.host.socket.send(Buffer.from('.'));
    await busy.client.received(1);
    await endsWith(stage, idle, 'idle', async () => clock.advance(1_000));
    assert.equal(busy.client.words.at(-1).type, 'ready');
    await endsWith(stage, busy, 'idle', async () => clock.advance(59_000));
  });

  it('ends as unreachable when the host fails, does not connect in time, or is offline', async () => {
    const stage = await at.stage();
    const waiting = async () => {
      const { session_id, ticket } = await stage.ticket();
      const client = asEnd(await stage.client(ticket));
      return { session_id, client };
    };
    const failed = await waiting();
    await at.channel.change(
      "update node_tasks t set state = 'failed', state_reason = 'virsh: secret path' from terminal_sessions s where s.task_id = t.id and s.id = $1",
      [failed.session_id],
    );
    assert.equal(await failed.client.closed(), 4003);
    assert.equal(failed.client.words.at(-1).message, 'The agent could not open the connection. Retry.');
    const late = await waiting();
    clock.advance(20_000);
    assert.equal(await late.client.closed(), 4003);
    assert.match(late.client.words.at(-1).message, /did not respond in time/);
    const offline = await waiting();
    for (const state of ['active', 'offline'])
      await at.channel.change('update nodes set state = $2 where id = $1', [stage.agent.node_id, state]);
    clock.advance(20_000);
    assert.equal(await offline.client.closed(), 4003);
    assert.match(offline.client.words.at(-1).message, /is offline/);
  });

  it('a host whose certificate is revoked loses its streams', async () => {
    const stage = await at.stage();
    const open = await stage.session();
    await at.channel.change(
      "update node_certificates set revoked_at = clock_timestamp(), revoked_reason = 'test' where node_id = $1",
      [stage.agent.node_id],
    );
    await until('it is cut', () => open.client.words.at(-1)?.reason === 'agent_disconnected');
    const { session_id } = await stage.ticket();
    const again = await stage.host(session_id);
    assert.equal('status' in again && again.status, 403);
  });

  it('a stream outlives its first certificate while its enrollment has a valid one', async () => {
    const stage = await at.stage();
    const open = await stage.session();
    const { node_id } = stage.agent;
    await at.channel.change(
      `insert into node_certificates (serial_number, node_id, ca_key_id, enrollment_id, fingerprint_sha256, not_before, not_after)
       select 'ab' || right(serial_number, 20), node_id, ca_key_id, enrollment_id, reverse(fingerprint_sha256), not_before, not_after
       from node_certificates where node_id = $1`,
      [node_id],
    );
    await at.channel.change(
      `update node_certificates set revoked_at = clock_timestamp(), revoked_reason = 'Replaced by a newer certificate.'
       where node_id = $1 and serial_number not like 'ab%'`,
      [node_id],
    );
    await until('the old one is let in no more', async () => {
      const answer = await stage.host(mintId('ses'));
      return 'status' in answer && answer.status === 403;
    });
    // The check ends another host's stream afterwards: so this one was checked.
    const other = await at.stage();
    const cut = await other.session();
    await at.channel.change(
      "update node_certificates set revoked_at = clock_timestamp(), revoked_reason = 'test' where node_id = $1",
      [other.agent.node_id],
    );
    await until('the other is cut', () => cut.client.words.at(-1)?.reason === 'agent_disconnected');
    open.host.socket.send(Buffer.from('goes on'));
    await open.client.received(7);
    await at.channel.change(
      "update node_certificates set revoked_at = clock_timestamp(), revoked_reason = 'test' where node_id = $1 and revoked_at is null",
      [node_id],
    );
    await until('it is cut', () => open.client.words.at(-1)?.reason === 'agent_disconnected');
  });

  it('records transferred bytes while it is open', async () => {
    const stage = await at.stage();
    const { session_id, client, host } = await stage.session();
    client.socket.send(Buffer.from('12345'));
    host.socket.send(Buffer.from('123'));
    await Promise.all([host.received(5), client.received(3)]);
    await until('the row says so', async () => {
      const row = await stage.row(session_id);
      return row.state === 'open' && row.bytes_in === 5 && row.bytes_out === 3;
    });
    client.socket.close();
    await host.closed();
  });

  it('a console continues while its allocation is provisioned', async () => {
    const stage = await at.stage({ state: 'provisioning' });
    const open = await stage.session({ kind: 'console' });
    const denied = await stage.client((await stage.ticket()).ticket);
    assert.equal('status' in denied && denied.status, 403);
    open.client.socket.close();
    await open.host.closed();
  });
});

describe('a session whose host closes it before the next check', () => {
  const closers: (() => Promise<void>)[] = [];
  let at: TestGateway;
  before(async () => {
    at = await joinedGateway(
      { after: (fn) => void closers.unshift(fn) },
      {},
      { intervals_ms: { 'enforce-sessions': HOUR_MS } },
    );
  });
  after(async () => {
    for (const close of closers) await close();
  });

  for (const [reason, what, change] of [
    ['released', 'released', "state = 'releasing', release_requested_at = clock_timestamp()"],
    ['released', 'switched off', "power_state = 'stopping', power_since = clock_timestamp(), power_run_id = 'wfr_1'"],
    ['ended', 'rebooted', "power_state = 'rebooting', power_since = clock_timestamp(), power_run_id = 'wfr_1'"],
  ] as const)
    it(`reports that its VM is ${what}`, async () => {
      const stage = await at.stage();
      const open = await stage.session();
      await at.channel.change(`update allocations set ${change} where id = $1`, [stage.allocation.id]);
      open.host.socket.close(SESSION_CLOSE_CODES.ended);
      await until('the client sees it', () => open.client.words.at(-1)?.type === 'closed');
      const { reason: said, message } = open.client.words.at(-1);
      assert.equal(said, reason);
      assert.match(message, /being released|being stopped|rebooting/);
    });
});

describe('replicas', () => {
  it('serve sessions side by side, and close the sessions of a dead replica', async (t) => {
    const closers: (() => Promise<void>)[] = [];
    t.after(async () => {
      for (const close of closers) await close();
    });
    const hook = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
    const db = await testDatabase(hook);
    const first = await joinedGateway(hook, {}, { db });
    const second = await joinedGateway(hook, { roles: ['gpuaas-terminal-gateway'] }, { db });
    const stage = await first.stage();
    const { session_id, ticket } = await stage.ticket();
    const client = asEnd(await stage.client(ticket, { gateway: second.gateway }));
    const wrong = await stage.host(session_id);
    assert.equal('status' in wrong && wrong.status, 404);
    const [task] = await first.channel.rows<{ url: string }>(
      "select t.params ->> 'gateway_url' as url from node_tasks t join terminal_sessions s on s.task_id = t.id where s.id = $1",
      [session_id],
    );
    assert.equal(task?.url, second.gateway.agent_url);
    const host = asEnd(await stage.host(session_id, { gateway: second.gateway }));
    const beside = await stage.session();
    host.socket.send(Buffer.from('from the second'));
    await client.received(15);
    assert.deepEqual([first.gateway.registry.size(), second.gateway.registry.size()], [1, 1]);
    const replayed = await stage.client(ticket);
    assert.equal('status' in replayed && replayed.body.detail, 'The ticket was already used. Request another.');

    const left = await stage.ticket();
    await first.channel.change(
      `update terminal_sessions set state = 'open', ticket_hash = null, gateway_url = 'wss://gone.example', bytes_in = 7,
         opened_at = clock_timestamp(), gateway_seen_at = clock_timestamp() - interval '16 seconds' where id = $1`,
      [left.session_id],
    );
    await until('it is closed', async () => (await stage.row(left.session_id)).state === 'closed');
    assert.equal((await stage.row(left.session_id)).end_reason, 'gateway_stopped');
    const audit = await first.channel.rows<{ bytes: number }>(
      "select (metadata ->> 'bytes_in')::int as bytes from audit_logs where target_id = $1 and action = 'allocation.session.close'",
      [left.session_id],
    );
    assert.deepEqual(audit, [{ bytes: 7 }]);
    assert.equal((await stage.row(session_id)).state, 'opening');
    for (const open of [client, beside.client]) open.socket.close();
  });

  it('a stopping replica notifies its clients and closes their rows', async (t) => {
    const closers: (() => Promise<void>)[] = [];
    const closeAll = async () => {
      for (const close of closers.splice(0)) await close();
    };
    t.after(closeAll);
    const hook = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
    const db = await testDatabase({ after: (fn) => t.after(fn) });
    const at = await joinedGateway(hook, {}, { db });
    const stage = await at.stage();
    const open = await stage.session();
    await closeAll();
    assert.equal(await open.client.closed(), 4008);
    assert.deepEqual(open.client.words.at(-1), {
      type: 'closed',
      reason: 'gateway_stopped',
      message: 'The gateway is restarting. Connect again.',
    });
    assert.equal((await stage.row(open.session_id)).end_reason, 'gateway_stopped');
  });
});
