/** A gateway with real sockets on both sides: clients with tickets, and hosts with the certificates of enrolled nodes. */
import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { AGENT_STREAM_PATH, STREAM_PATH, STREAM_PROTOCOL, TICKET_PROTOCOL_PREFIX } from '@gpuaas/contract/stream';
import { mintId } from '@gpuaas/kit';
import { WebSocket } from 'ws';
import type { Config } from '../src/config.ts';
import { PLATFORM } from '../src/db/client.ts';
import type { Gateway } from '../src/roles/terminal-gateway.ts';
import type { TestAgent } from './agent.ts';
import { startTestApp, type TestApp, type TestAppOptions } from './app.ts';
import { type Channel, openChannel } from './channel.ts';
import { testDatabase } from './database.ts';
import { type AllocationFacts, aCatalog, anAllocation, type TestAllocation } from './placement.ts';
import { until } from './until.ts';

/** Of a process without the trust key: it can do all of its work. */
export const GATEWAY_ROLES = ['gpuaas-api', 'gpuaas-terminal-gateway'] as const;

// biome-ignore lint/suspicious/noExplicitAny: tests look into words whose shape the contract already checked
type Json = any;

/** One end of a session, with all received messages. */
export type End = Readonly<{
  socket: WebSocket;
  words: Json[];
  bytes(): number;
  hash(): string;
  text(): string;
  say(word: object): void;
  word(type: string): Promise<Json>;
  received(count: number): Promise<void>;
  closed(): Promise<number>;
}>;

export const openEnd = (socket: WebSocket): End => {
  const words: Json[] = [];
  const digest = createHash('sha256');
  const kept: Buffer[] = [];
  let bytes = 0;
  let code: number | undefined;
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) return void words.push(JSON.parse(data.toString()));
    bytes += data.length;
    digest.update(data);
    if (bytes < 100_000) kept.push(data);
  });
  socket.on('close', (given) => {
    code = given;
  });
  socket.on('error', () => {});
  return {
    socket,
    words,
    bytes: () => bytes,
    hash: () => digest.copy().digest('hex'),
    text: () => Buffer.concat(kept).toString(),
    say: (word) => socket.send(JSON.stringify(word)),
    word: async (type) => {
      await until(`the word ${type}`, () => words.some((word) => word.type === type));
      return words.find((word) => word.type === type);
    },
    received: (count) => until(`${count} bytes`, () => bytes >= count),
    closed: async () => {
      await until('the end', () => code !== undefined);
      return code ?? 0;
    },
  };
};

export type Refused = Readonly<{ status: number; body: Json }>;

/** Connects, or returns the response of the refusal. */
const connect = (socket: WebSocket): Promise<End | Refused> =>
  new Promise((resolve, reject) => {
    const end = openEnd(socket);
    socket.once('open', () => resolve(end));
    socket.once('error', reject);
    socket.once('unexpected-response', (_, response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(parts).toString()) }),
      );
    });
  });

export const isEnd = (answer: End | Refused): answer is End => 'socket' in answer;
export const asEnd = (answer: End | Refused): End => {
  if (!isEnd(answer)) throw new Error(`refused: ${JSON.stringify(answer)}`);
  return answer;
};
export const asRefused = (answer: End | Refused): Refused => {
  if (isEnd(answer)) throw new Error('it was let in');
  return answer;
};

export type TicketFacts = Readonly<{
  kind?: 'terminal' | 'console' | 'ssh' | 'forward';
  is_writable?: boolean;
  is_recorded?: boolean;
  principal_id?: string;
  principal_kind?: 'user' | 'service_account';
  credential_id?: string | null;
  credential_expires_at?: string | null;
  ticket_lives_s?: number;
  lives_s?: number;
}>;

export type TestGateway = Readonly<{
  test: TestApp;
  channel: Channel;
  gateway: Gateway;
  /** A tenant with an allocation on a node with an enrolled agent. */
  stage(facts?: Partial<AllocationFacts>): Promise<Stage>;
}>;

export type Stage = Readonly<{
  agent: TestAgent;
  allocation: TestAllocation;
  user: Awaited<ReturnType<TestApp['user']>>;
  ticket(facts?: TicketFacts): Promise<Readonly<{ session_id: string; ticket: string }>>;
  client(
    ticket: string,
    options?: Readonly<{ origin?: string; gateway?: Gateway; path?: string }>,
  ): Promise<End | Refused>;
  host(
    sessionId: string,
    options?: Readonly<{ agent?: TestAgent; node_id?: string; gateway?: Gateway }>,
  ): Promise<End | Refused>;
  /** A session with both ends connected. */
  session(facts?: TicketFacts): Promise<Readonly<{ session_id: string; client: End; host: End }>>;
  row(sessionId: string): Promise<Json>;
}>;

/** A session ends in the next turn of the first, a host's stream in that of the second. */
const OFTEN = { 'enforce-sessions': 50, 'refresh-gateway-trust': 100 };

export const joinedGateway = async (
  t: Parameters<typeof startTestApp>[0],
  overrides: Partial<Config> = {},
  options: TestAppOptions = {},
): Promise<TestGateway> => {
  const db = options.db ?? (await testDatabase(t));
  const given = { intervals_ms: OFTEN, ...options, db };
  const signer = await startTestApp(t, { roles: ['gpuaas-node-api'] }, given);
  const test = await startTestApp(t, { roles: GATEWAY_ROLES, ...overrides }, given);
  const { gateway } = test.app;
  if (gateway === null) throw new Error('the app has no gateway');
  const channel = openChannel(test, signer.app.node_api?.url);
  let users = 0;

  const stage: TestGateway['stage'] = async (facts = {}) => {
    users += 1;
    const user = await test.user(`tenant${users}`);
    const agent = await channel.join();
    const tenant = { organization_id: user.organization_id, project_id: user.project_id };
    const allocation = await test.db.database.write(PLATFORM, async (tx) => {
      await aCatalog(tx);
      const node = { id: agent.node_id, slot_ids: [] };
      return anAllocation(tx, { tenant, node, shape: 'gpu_slice', state: 'active', ...facts });
    });

    const ticket: Stage['ticket'] = async (given = {}) => {
      const text = randomBytes(32).toString('base64url');
      const id = mintId('ses');
      await channel.change(
        `insert into terminal_sessions (id, organization_id, project_id, allocation_id, node_id, kind, port, is_writable, is_recorded,
           principal_id, principal_kind, principal_name, credential_id, credential_expires_at, ticket_hash, ticket_expires_at,
           correlation_id, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'Ada', $12, $13, $14,
           clock_timestamp() + make_interval(secs => $15), $16, clock_timestamp() + make_interval(secs => $17))`,
        [
          id,
          tenant.organization_id,
          tenant.project_id,
          allocation.id,
          agent.node_id,
          given.kind ?? 'terminal',
          given.kind === 'forward' ? 8888 : null,
          given.is_writable ?? true,
          given.is_recorded ?? false,
          given.principal_id ?? user.me.id,
          given.principal_kind ?? 'user',
          given.credential_id ?? null,
          given.credential_expires_at ?? null,
          createHash('sha256').update(text).digest(),
          given.ticket_lives_s ?? 30,
          mintId('cor'),
          given.lives_s ?? 3600,
        ],
      );
      return { session_id: id, ticket: text };
    };
    const client: Stage['client'] = (text, { origin, gateway: at = gateway, path = STREAM_PATH } = {}) =>
      connect(
        new WebSocket(`${at.url}${path}`, [STREAM_PROTOCOL, `${TICKET_PROTOCOL_PREFIX}${text}`], {
          perMessageDeflate: false,
          ...(origin === undefined ? {} : { origin }),
        }),
      );
    const host: Stage['host'] = (
      sessionId,
      { agent: by = agent, node_id = by.node_id, gateway: at = gateway } = {},
    ) => {
      const path = AGENT_STREAM_PATH.replace('{node_id}', node_id).replace('{session_id}', sessionId);
      return connect(
        new WebSocket(`${at.agent_url}${path}`, [STREAM_PROTOCOL], {
          perMessageDeflate: false,
          ca: by.trust.ca_bundle_pem,
          cert: by.certificate_pem,
          key: by.private_key_pem,
        }),
      );
    };
    return {
      agent,
      allocation,
      user,
      ticket,
      client,
      host,
      session: async (given = {}) => {
        const { session_id, ticket: text } = await ticket(given);
        const from = asEnd(await client(text));
        await from.word('session');
        const to = asEnd(await host(session_id));
        to.say({ type: 'ready' });
        await from.word('ready');
        return { session_id, client: from, host: to };
      },
      row: async (sessionId) => (await channel.rows('select * from terminal_sessions where id = $1', [sessionId]))[0],
    };
  };
  return { test, channel, gateway, stage };
};

/** A request without an upgrade. */
export const plainRequest = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const request = httpRequest(url.replace(/^ws/, 'http'), (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject);
    request.end();
  });
