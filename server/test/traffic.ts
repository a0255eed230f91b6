/**
 * Tenants that launch and release while the database fails. A tenant repeats a request with the same key until it is
 * decided, as clients do. The host keeps what it must report until the control plane has it, as an agent's journal does.
 * At the end everything is released; then nothing may be left of the failures.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { invariant } from '@gpuaas/kit';
import { Client } from 'pg';
import { sealLag } from '../src/db/audit-seal.ts';
import { type Database, PLATFORM } from '../src/db/client.ts';
import type { NodeTaskRow } from '../src/db/node-task.ts';
import { refreshSummary } from '../src/placement/summary.ts';
import type { Caller, TestResponse } from './app.ts';
import { report, takeQueued, truth } from './host.ts';
import { assertInvariants } from './invariants.ts';
import { aNode } from './placement.ts';
import { until } from './until.ts';

const REGION = 'us-buffalo-1';
/** The machine of a test is busy already: traffic must not take the time of what it tests. */
const PAUSE_MS = 20;
const LOOK_AGAIN_MS = 200;
/** A run whose worker was lost continues after its lease, then after a growing pause. */
const WITHIN_MS = 300_000;

type Tenant = Caller & Readonly<{ project_id: string }>;
export type Launched = Readonly<{ key: string; id: string }>;

export type Traffic = Readonly<{
  /** Launches that were accepted. */
  launched: readonly Launched[];
  /** Releases that were accepted. Throws when a tenant got a response that it must not get. */
  released(): number;
  /** Responses by status. */
  count(status: number): number;
  /** The age of the oldest audit row without a seal, at its highest so far, in seconds. */
  oldestUnsealed(): number;
  /** Retries that got the response of an earlier attempt. */
  replayed(): Readonly<{ launches: number; releases: number }>;
  /**
   * Stops launching, releases what is left, waits until every run has ended, and checks what remains. After a failover
   * the database is elsewhere.
   */
  finish(ownerUrl?: string): Promise<void>;
}>;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** How `fetch` says that the server ended before it responded. */
const lost = (err: unknown): undefined => {
  if (!(err instanceof TypeError)) throw err;
};

/** Tasks that were handed out while a response was lost: an agent would find them in its journal. */
const listHandedOut = async (database: Database): Promise<NodeTaskRow[]> =>
  database.read(
    PLATFORM,
    async (reader) =>
      (await reader.query<NodeTaskRow>("select * from node_tasks where state in ('dispatched', 'running')")).rows,
  );

const playTask = async (database: Database, task: NodeTaskRow): Promise<void> => {
  await report(database, task, truth(task));
};

/** Reads the tail of the audit log again and again; a database that does not respond has no tail to read. */
const watchTail = (database: Database) => {
  let isStopping = false;
  let oldest = 0;
  const run = async (): Promise<void> => {
    while (!isStopping) {
      const lag = await database.read(PLATFORM, sealLag).catch(() => undefined);
      oldest = Math.max(oldest, lag?.rows_s ?? 0);
      await pause(LOOK_AGAIN_MS);
    }
  };
  const running = run();
  return {
    oldest: () => oldest,
    stop: async () => {
      isStopping = true;
      await running;
    },
  };
};

/** One host program for all nodes. A failure of the database leaves its work to the next round. */
const startHost = (database: Database) => {
  let isStopping = false;
  const round = async (): Promise<void> => {
    await takeQueued(database);
    for (const task of await listHandedOut(database)) await playTask(database, task);
  };
  const run = async (): Promise<void> => {
    while (!isStopping) {
      await round().catch(() => {});
      await pause(LOOK_AGAIN_MS);
    }
  };
  const running = run();
  return async () => {
    isStopping = true;
    await running;
  };
};

export type TrafficOptions = Readonly<{
  tenant: Tenant;
  /** More than one: requests go to each in turn, as behind a load balancer. */
  callers?: readonly Caller[];
  ownerUrl: string;
  /** The host's own way to the database. */
  database: Database;
  nodes: number;
  tenants: number;
  /** Ends the host when the test fails before `finish`. */
  t: Readonly<{ after(fn: () => Promise<void>): void }>;
}>;

const addNodes = async ({ ownerUrl, database, nodes }: TrafficOptions): Promise<void> => {
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  for (let at = 0; at < nodes; at++) {
    const { id } = await aNode(sql, { region_name: REGION });
    await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  }
  await sql.end();
};

export const startTraffic = async (options: TrafficOptions): Promise<Traffic> => {
  const { tenant, database } = options;
  const callers = options.callers ?? [tenant];
  const path = `/api/v1/projects/${tenant.project_id}/allocations`;
  await addNodes(options);
  const stopHost = startHost(database);
  const tail = watchTail(database);
  options.t.after(async () => {
    isStopping = true;
    await stopHost();
    await tail.stop();
  });
  const launched: Launched[] = [];
  const statuses: number[] = [];
  let released = 0;
  const replayed = { launches: 0, releases: 0 };
  let isStopping = false;
  let turn = 0;

  /** Until it is decided: 503, no response, and 409 while the first attempt is still running, say to ask again. */
  const decide = async (url: string, body: object): Promise<Readonly<{ response: TestResponse; key: string }>> => {
    const key = randomUUID();
    for (;;) {
      const caller = callers[turn++ % callers.length];
      invariant(caller !== undefined, 'there is a caller');
      const response = await caller.post(url, body, { 'idempotency-key': key }).catch(lost);
      if (response !== undefined) {
        statuses.push(response.status);
        if (response.headers['idempotency-replayed'] === 'true') replayed[url === path ? 'launches' : 'releases'] += 1;
        const isOpen = response.status === 503 || response.body.code === 'idempotency_in_flight';
        if (!isOpen) return { response, key };
      }
      await pause(LOOK_AGAIN_MS);
    }
  };

  const release = async (id: string): Promise<void> => {
    const { response } = await decide(`${path}/${id}/release`, {});
    assert.ok([202, 409].includes(response.status), JSON.stringify(response.body));
    released += 1;
  };

  const work = async (): Promise<void> => {
    while (!isStopping) {
      const body = { name: `t-${randomUUID()}`, sku_name: 'h200-sxm-slice', region_name: REGION, gpu_count: 2 };
      const { response, key } = await decide(path, body);
      if (response.status === 202) {
        launched.push({ key, id: response.body.id });
        await pause(PAUSE_MS);
        await release(response.body.id);
      } else {
        assert.equal(response.body.code, 'insufficient_capacity', JSON.stringify(response.body));
        await pause(LOOK_AGAIN_MS);
      }
    }
  };
  let failure: Error | undefined;
  const working = Promise.all(Array.from({ length: options.tenants }, work));
  // Reported by `released`, for which tests wait, and by `finish`.
  working.catch((err: unknown) => {
    failure = err instanceof Error ? err : new Error(String(err));
    isStopping = true;
  });

  const finish = async (ownerUrl = options.ownerUrl): Promise<void> => {
    isStopping = true;
    await working;
    const sql = new Client({ connectionString: ownerUrl });
    await sql.connect();
    const count = async (text: string) => Number((await sql.query(text)).rows[0].count);
    const live = "select count(*) from workflow_runs where state in ('pending', 'running', 'waiting')";
    try {
      await until(
        'every run to end',
        async () => {
          await pause(LOOK_AGAIN_MS);
          return (await count(live)) === 0;
        },
        WITHIN_MS,
      );
      const { rows } = await sql.query<{ id: string; state: string }>('select id, state from allocations');
      assert.deepEqual(new Set(rows.map((row) => row.state)), new Set(['released']), 'every allocation was released');
      const ids = new Set(launched.map((one) => one.id));
      assert.equal(ids.size, launched.length, 'no key got the allocation of another');
      assert.deepEqual(new Set(rows.map((row) => row.id)), ids, 'one allocation per key: none is lost or made twice');
      assert.equal(await count('select count(*) from allocation_resource_claims where released_at is null'), 0);
      // A release cancels the launch that it overtakes.
      const ends = "select count(*) from workflow_runs where state not in ('done', 'cancelled')";
      assert.equal(await count(ends), 0, 'no run is stuck');
    } finally {
      await sql.end();
      await stopHost();
    }
    await until(
      'every audit row to be sealed, with its signed head',
      async () => {
        await pause(LOOK_AGAIN_MS);
        const { rows_s, heads_s } = await database.read(PLATFORM, sealLag);
        return rows_s === 0 && heads_s === 0;
      },
      WITHIN_MS,
    );
    await tail.stop();
    await assertInvariants(database);
  };

  return {
    launched,
    released: () => {
      if (failure !== undefined) throw failure;
      return released;
    },
    oldestUnsealed: tail.oldest,
    replayed: () => ({ ...replayed }),
    count: (status) => statuses.filter((one) => one === status).length,
    finish,
  };
};
