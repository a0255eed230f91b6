import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { isMutation, type Operation, type OperationId } from '@gpuaas/contract';
import { pause } from '@gpuaas/kit';
import fc from 'fast-check';
import { aGrant, aRecordedSession, aSession, aWebSession } from './access.ts';
import { startTestApp, type TestResponse, testClock } from './app.ts';
import { type FuzzRequest, nearly, onWire, type Pool, requestFor } from './arbitrary.ts';
import { assertInvariants } from './invariants.ts';
import { assertProblem, operations, type Parts } from './request.ts';
import { scenarios } from './scenarios.ts';
import { newStagedKey } from './scenarios-agent.ts';
import { newActive, newAllocation, newNode } from './scenarios-allocation.ts';
import { newInventoried, ORPHAN_VM } from './scenarios-inventory.ts';
import { newApprovedSlot, newDiscovered } from './scenarios-topology.ts';
import { newReleased } from './scenarios-wipe.ts';
import {
  CACHE_OVER_MS,
  insertRun,
  join,
  makeTenants,
  must,
  newSshKey,
  strangeId,
  type Tenants,
  type User,
} from './tenants.ts';

const AT_ONCE = 16;
/** On a slow host requests may wait for a connection; each must be served within this. */
const SERVED_WITHIN_MS = 120_000;
const HANGS_AFTER_MS = 60_000;
const SEED = Number(process.env['GPUAAS_FUZZ_SEED'] ?? randomInt(2 ** 31));

/** These read the whole audit log each time. */
const SELDOM: Partial<Record<OperationId, number>> = { adminAuditLogVerify: 10, auditLogExport: 40 };
/** One request in this many differs from a successful one in a single part. */
const NEARLY_ONE_IN = 4;

type Shot = Readonly<{
  id: OperationId;
  operation: Operation;
  caller: string;
  token: string | undefined;
  request: FuzzRequest;
}>;
/** A successful request, and its permitted callers. */
type Valid = Readonly<{ token: string | undefined; parts: Parts }>;

/** At least this many requests. */
export const storm = (requests: number): Promise<void> =>
  describe(`a storm of ${requests} requests generated from the contract`, () => {
    const each = Math.ceil(requests / (operations.length - Object.keys(SELDOM).length));
    const closers: (() => Promise<void>)[] = [];
    const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
    let tenants: Tenants;
    let invitee: User;

    before(async () => {
      const clock = testClock();
      tenants = await makeTenants(t, await startTestApp(t, {}, { clock }), clock);
      invitee = await tenants.test.user('invitee');
    });
    after(async () => {
      for (const close of closers) await close();
    });

    /** Several of each resource, so that deleting one leaves others. */
    const makePool = async (): Promise<Pool> => {
      const { acme, rival, sql, test } = tenants;
      const accounts = `/api/v1/projects/${acme.ids.project_id}/service-accounts`;
      const pool: Record<string, unknown[]> = {
        organization_id: [...Array(8).fill(acme.organization_id), rival.organization_id, strangeId('organization')],
        project_id: [...Array(8).fill(acme.ids.project_id), acme.project_b_id, rival.ids.project_id],
        user_id: [acme.ids.user_id, rival.ids.user_id],
        invitation_id: [acme.ids.invitation_id, rival.ids.invitation_id],
        service_account_id: [rival.ids.service_account_id],
        token_id: [acme.ids.token_id, rival.ids.token_id],
        ssh_key_id: [acme.ids.ssh_key_id, rival.ids.ssh_key_id],
        web_session_id: [acme.ids.web_session_id, rival.ids.web_session_id, strangeId('web_session')],
        workflow_run_id: [acme.ids.workflow_run_id, rival.ids.workflow_run_id],
        sku_name: ['h200-sxm-slice', 'h200-sxm-baremetal-8g'],
        region_name: ['us-buffalo-1', 'eu-frankfurt-1'],
        image_name: ['ubuntu-24.04-h200-cuda', 'ubuntu-24.04-h200-base'],
        sku_names: [['h200-sxm-slice'], ['none']],
        digest: [`sha256:${'0'.repeat(64)}`, `sha256:${'1'.repeat(64)}`],
        node_id: [strangeId('node')],
        slot_id: [strangeId('slot')],
        task_id: [strangeId('node_task')],
        trust_key_id: [strangeId('trust_key')],
        private_network: ['10.1.0.0/16', '10.100.0.0/24', '10.100.0.1/24', '999.0.0.0/24'],
        disk_ownership_id: [strangeId('disk_ownership')],
        slot_indexes: [[0], [0, 1], [63]],
        allocation_id: [strangeId('allocation')],
        gpu_count: [1, 1, 2, 8],
        gpu_model: ['H200 SXM'],
        node_count: [1],
        vm_profile: ['h200_1g_24c_64g'],
        ssh_key_ids: [[]],
        user_data: ['#cloud-config\n{}\n', '#!/bin/sh\n', 'echo', null],
        client_id: [acme.ids.service_account_id],
        client_secret: [],
        token: [],
        scopes: [['read'], ['all'], ['service_account.*'], ['project.read', 'event.read']],
        public_key: Array.from({ length: 20 }, newSshKey),
      };
      for (let n = 0; n < 6; n++) {
        const person = await test.user(`bystander-${n}`);
        await join(sql, acme, person.me.id, { tenant: 'member', project: 'member' });
        const made = must(await acme.owner.post(accounts, { name: `fuzzed-${n}` }), 201).body;
        pool['user_id']?.push(person.me.id);
        pool['service_account_id']?.push(made.service_account.id);
        pool['client_id']?.push(made.service_account.id);
        pool['client_secret']?.push(made.client_secret);
        const run = { organization_id: acme.organization_id, project_id: acme.ids.project_id } as const;
        pool['workflow_run_id']?.push(await insertRun(sql, { ...run, state: n % 2 === 0 ? 'stuck' : 'pending' }));
        const invited = { email: 'invitee@example.com', role: 'member' };
        const path = `/api/v1/organizations/${acme.organization_id}/invitations`;
        pool['token']?.push(must(await acme.owner.post(path, invited), 201).body.token);
      }
      for (let n = 0; n < 10; n++) {
        const made = await acme.owner.post('/api/v1/tokens', { name: 'fuzzed', scopes: ['read'], expires_in_s: 3600 });
        pool['token_id']?.push(must(made, 201).body.api_token.id);
        pool['web_session_id']?.push(await aWebSession(sql, acme.owner.me.id));
      }
      // One node is drawn often, so that its slots and disks occur together with it.
      const { node_id } = await newApprovedSlot(tenants);
      const rival_node = await newDiscovered(tenants);
      pool['node_id']?.push(...Array(20).fill(node_id), rival_node, rival_node);
      pool['node_id']?.push(...Array(4).fill(await newInventoried(tenants)));
      pool['vm_name'] = [ORPHAN_VM, 'somebodys'];
      const slots = must(await tenants.superadmin.get(`/api/v1/admin/nodes/${node_id}/resource-slots`), 200).body.items;
      pool['slot_id']?.push(...slots.map((slot: { id: string }) => slot.id));
      const found = must(
        await tenants.superadmin.get(`/api/v1/admin/nodes/${node_id}/slice-topology/discovery`),
        200,
      ).body;
      pool['map_hash'] = [found.map.map_hash];
      pool['serial'] = ['fuzzed'];
      pool['source'] = ['agent'];
      for (let n = 0; n < 6; n++) pool['trust_key_id']?.push((await newStagedKey(tenants)).id);
      await sql.query("update trust_keys set state = 'staged', version = 1 where id = any ($1)", [
        pool['trust_key_id'],
      ]);
      await sql.query("update node_agents set kinds = '{agent.update}'");
      for (let n = 0; n < 12; n++) {
        pool['node_id']?.push((await newNode(tenants, { capacity_mode: 'flexible' })).id);
        pool['allocation_id']?.push((await newAllocation(tenants)).id);
        if (n % 3 === 0) pool['allocation_id']?.push((await newActive(tenants)).id);
      }
      for (let n = 0; n < 4; n++) pool['allocation_id']?.push((await newReleased(tenants)).id);
      // One allocation is drawn often, so that its sessions and grants occur together with it.
      const reached = await newActive(tenants);
      pool['allocation_id']?.push(...Array(12).fill(reached.id));
      pool['port'] = [22, 8888];
      pool['session_id'] = [acme.ids.session_id, rival.ids.session_id, strangeId('terminal_session')];
      pool['access_grant_id'] = [acme.ids.access_grant_id, rival.ids.access_grant_id, strangeId('access_grant')];
      for (let n = 0; n < 4; n++) {
        pool['session_id']?.push(await aSession(sql, reached, { state: 'ticketed', principal_id: acme.owner.me.id }));
        pool['session_id']?.push(await aRecordedSession(sql, reached, acme.owner.me));
        pool['access_grant_id']?.push(await aGrant(sql, reached, acme.owner.me.id));
        const key = await acme.owner.post('/api/v1/ssh-keys', { name: `granted-${n}`, public_key: newSshKey() });
        pool['ssh_key_id']?.push(must(key, 201).body.id);
      }
      pool['id'] = [
        reached.id,
        node_id,
        acme.ids.workflow_run_id,
        strangeId('node_task'),
        'c-of-nobody',
        rival.ids.allocation_id,
      ];
      // No request knows its id, so its project is never empty and never deleted.
      must(await acme.owner.post(accounts, { name: 'keeper' }), 201);
      return pool;
    };

    /** Cursors that are well formed for the operation, with keys that no page returned. */
    const cursorsFor = (id: OperationId, operation: Operation): string[] => {
      const scope =
        { project: tenants.acme.ids.project_id, tenant: tenants.acme.organization_id }[operation.access as 'project'] ??
        tenants.acme.owner.me.id;
      const keys = [
        ['a'],
        [1],
        [-1],
        [2 ** 53 - 1],
        ['\ud800'],
        ["'"],
        ['x'.repeat(200)],
        ['1', 'evt_'],
        ['18446744073709551616', ''],
        ['-1', ''],
        [1, 1],
        [],
      ];
      return keys.map((key) => Buffer.from(JSON.stringify([id, scope, ...key])).toString('base64url'));
    };

    /** The request of its scenario, unchanged and then varied. */
    const validRequest = async (id: OperationId): Promise<Valid> => {
      const { as, ...parts } = await scenarios[id](tenants);
      return { token: as?.token ?? undefined, parts: parts as Parts };
    };

    const tokenOf = (caller: string): string | undefined =>
      ({ anonymous: undefined, garbage: 'gpuaas_pat_garbage', invitee: invitee.token })[caller] ??
      tenants.actors[caller]?.caller.token;

    const shots = (pool: Pool, valid: ReadonlyMap<OperationId, Valid>): Shot[] => {
      const callers = [
        'owner',
        'owner',
        'owner',
        'superadmin',
        'admin',
        'project_admin',
        'member',
        'viewer',
        'service_account',
        'stranger',
        'ops',
        'anonymous',
        'invitee',
        'garbage',
      ];
      const drawn = operations.flatMap(([id, operation], index) => {
        const arbitrary = fc.tuple(
          requestFor(operation, { ...pool, cursor: cursorsFor(id, operation) }),
          fc.constantFrom(...callers),
        );
        const numRuns = SELDOM[id] ?? each;
        const anything = fc
          .sample(arbitrary, { seed: SEED + index, numRuns })
          .map(([request, drawnCaller], n): Shot => {
            // Platform operations belong to operators: most of them come from one.
            const caller = operation.access === 'platform' && n % 4 !== 0 ? 'superadmin' : drawnCaller;
            return { id, operation, caller, token: tokenOf(caller), request };
          });
        const good = valid.get(id);
        if (good === undefined) return anything;
        const near = fc
          .sample(nearly(operation, good.parts, pool), {
            seed: SEED + index,
            numRuns: Math.ceil(numRuns / NEARLY_ONE_IN),
          })
          .map((request): Shot => ({ id, operation, caller: 'scenario', token: good.token, request }));
        return [...near, ...anything.slice(near.length)];
      });
      // Operations are mixed, so that each meets changes of others.
      return drawn
        .map((shot, index) => ({ shot, at: (index * 7_919) % drawn.length }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ shot }) => shot);
    };

    const fire = async ({ operation, token, request }: Shot): Promise<TestResponse> => {
      const response = await tenants.test.app.http.inject({
        method: operation.method,
        url: request.url,
        headers: {
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...request.headers,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        ...(request.body === undefined ? {} : { payload: request.body }),
        payloadAsStream: true,
      });
      assert.ok(response);
      const stream = response.stream();
      const headers = response.headers as Record<string, string>;
      if (headers['content-type']?.startsWith('text/event-stream')) {
        stream.destroy();
        return { status: response.statusCode, body: '', headers };
      }
      const text = (await stream.toArray()).join('');
      const isJson = /^application\/(problem\+)?json(;|$)/.test(headers['content-type'] ?? '');
      return { status: response.statusCode, body: isJson ? JSON.parse(text) : text, headers };
    };

    const guarded = async (shot: Shot): Promise<TestResponse> => {
      let timer: NodeJS.Timeout | undefined;
      const hung = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('no answer')), HANGS_AFTER_MS);
      });
      try {
        return await Promise.race([fire(shot), hung]);
      } finally {
        clearTimeout(timer);
      }
    };

    it(`gives no 5xx, no hang, and one envelope for every refusal (seed ${SEED})`, async () => {
      const statuses = new Map<number, number>();
      const succeeded = new Map<OperationId, number>();
      const changed: string[] = [];
      const logged = ({ headers }: TestResponse) =>
        tenants.test.logs
          .filter((line) => line['correlation_id'] === headers['x-correlation-id'])
          .map((line) => JSON.stringify(line))
          .join('\n');
      const check = async (shot: Shot): Promise<void> => {
        const story = () =>
          `seed ${SEED}: ${shot.id} as ${shot.caller} ${shot.operation.method} ${JSON.stringify(shot.request)}`;
        const shoot = () => guarded(shot).catch((err: Error) => assert.fail(`${story()}: ${err.stack}`));
        const deadline = Date.now() + SERVED_WITHIN_MS;
        let answer = await shoot();
        while (answer.status === 503 && answer.body.code === 'unavailable' && Date.now() < deadline) {
          await pause(answer.body.retry_after_s * 1000);
          answer = await shoot();
        }
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        assert.ok(answer.status < 500, `${story()}: ${JSON.stringify(answer.body)}\n${logged(answer)}`);
        assert.match(answer.headers['x-correlation-id'] ?? '', /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/, story());
        if (answer.status >= 300) return assertProblem(story(), answer, [answer.status]);
        assert.equal(answer.status, shot.operation.status, story());
        succeeded.set(shot.id, (succeeded.get(shot.id) ?? 0) + 1);
        if (isMutation(shot.operation)) changed.push(answer.headers['x-correlation-id'] ?? '');
      };
      const valid = new Map<OperationId, Valid>();
      for (const [id, operation] of operations) {
        const good = await validRequest(id);
        tenants.clock.advance(CACHE_OVER_MS);
        const request = onWire(operation, good.parts);
        await check({ id, operation, caller: 'scenario', token: good.token, request });
        // A change may have used up its resource.
        valid.set(id, isMutation(operation) ? await validRequest(id) : good);
      }
      const all = shots(await makePool(), valid);
      assert.ok(all.length >= requests);
      const queue = all[Symbol.iterator]();
      const worker = async () => {
        for (const shot of queue) await check(shot);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));

      const total = [...succeeded.values()].reduce((sum, n) => sum + n, 0);
      const silent = operations.map(([id]) => id).filter((id) => !succeeded.has(id));
      console.log(JSON.stringify({ seed: SEED, requests: all.length, statuses: Object.fromEntries(statuses), silent }));
      assert.ok(total > all.length / 8, `only ${total} of ${all.length} requests got through`);
      assert.deepEqual(silent, [], 'operations that never succeeded');

      const { rows } = await tenants.sql.query<{ correlation_id: string; n: number }>(
        "select correlation_id, count(*)::int as n from audit_logs where result = 'success' and actor_kind <> 'system' and action <> 'user.create' group by 1",
      );
      const audited = new Map(rows.map((row) => [row.correlation_id, row.n]));
      for (const [id, ids] of Map.groupBy(changed, (id) => id))
        assert.equal(audited.get(id), ids.length, `audit rows of ${id}`);
    });

    it('leaves a working server and a database without violated invariants', async () => {
      const answer = await tenants.test.bearer(null).get('/readyz');
      assert.deepEqual([answer.status, answer.body.ready], [200, true]);
      const made = await tenants.superadmin.post(
        `/api/v1/organizations/${tenants.superadmin.organization_id}/projects`,
        {
          name: `after-${randomUUID().slice(0, 8)}`,
        },
      );
      assert.equal(made.status, 201);
      await assertInvariants(tenants.test.db.database);
    });
  });
