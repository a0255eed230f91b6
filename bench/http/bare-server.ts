/**
 * The reference for our API: node:http and pg, the same statements in the same order over the same kind of connection,
 * and nothing else. No routing, no authentication, no validation, no envelope.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool, type PoolClient } from 'pg';
import { FIND_HELD_PROJECT } from '../../server/src/db/project.ts';

const SET_SCOPE = "select set_config('gpuaas.tenant_id', $1, true), set_config('gpuaas.principal_id', $2, true)";
const LOCK = 'select pg_try_advisory_xact_lock($1::bigint) as locked';
const LOOKUP = `select request_hash, status, response, response_sealed from idempotency_keys
  where tenant = $1 and principal_id = $2 and operation = $3 and key = $4 and expires_at > now()`;
const INSERT = `insert into projects (id, organization_id, name, display_name) values ($1, $2, $3, $4)
  returning id, organization_id, name, display_name, version, created_at`;
const EVENT = `insert into outbox_events (id, event_type, organization_id, project_id, subject, data, correlation_id) values ($1, $2, $3, $4, $5, $6, $7)`;
const AUDIT = `insert into audit_logs (id, organization_id, project_id, actor_kind, actor_id, actor_role, source_ip, user_agent,
  action, target_kind, target_id, result, error_code, policy, correlation_id, metadata)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`;
const REMEMBER = `insert into idempotency_keys (tenant, principal_id, operation, key, request_hash, status, response, response_sealed)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`;

const names = new Map<string, string>();
const run = (client: PoolClient, text: string, values: unknown[]) => {
  let name = names.get(text);
  if (name === undefined) {
    name = `s${names.size}`;
    names.set(text, name);
  }
  return client.query({ name, text, values });
};

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const id = (prefix: string) => `${prefix}_${Array.from(randomBytes(26), (byte) => ALPHABET[byte & 31]).join('')}`;

const url = process.env['DATABASE_URL'] ?? '';
const tenant = process.env['BENCH_ORGANIZATION'] ?? '';
const principal = process.env['BENCH_PRINCIPAL'] ?? '';
const pool = new Pool({
  connectionString: url,
  max: 10,
  pipeline: true,
  options: '-c role=gpuaas_app -c timezone=UTC',
} as ConstructorParameters<typeof Pool>[0]);

/** Statements that `fn` passes to `later` are sent before the commit and awaited with it. */
const transaction = async <T>(
  begin: string,
  fn: (client: PoolClient, later: (sent: Promise<unknown>) => void) => Promise<T>,
): Promise<T> => {
  const client = await pool.connect();
  try {
    const pending: Promise<unknown>[] = [run(client, begin, []), run(client, SET_SCOPE, [tenant, principal])];
    const result = await fn(client, (sent) => void pending.push(sent));
    await Promise.all([...pending, client.query('commit')]);
    return result;
  } finally {
    client.release();
  }
};

const read = (projectId: string) =>
  transaction('begin read only', async (client) => (await run(client, FIND_HELD_PROJECT, [projectId])).rows[0]);

const write = (key: string, body: { name: string }) =>
  transaction('begin', async (client, later) => {
    const hash = createHash('sha256').update(key).digest();
    const [, known] = await Promise.all([
      run(client, LOCK, [hash.readBigInt64BE().toString()]),
      run(client, LOOKUP, [tenant, principal, 'projectCreate', key]),
    ]);
    if (known.rows[0]) return JSON.parse(known.rows[0].response.toString());
    const projectId = id('prj');
    const row = (await run(client, INSERT, [projectId, tenant, body.name, body.name])).rows[0];
    const text = JSON.stringify(row);
    const event = [
      id('evt'),
      'project.created',
      tenant,
      projectId,
      projectId,
      JSON.stringify({ project_id: projectId, name: body.name }),
      key,
    ];
    const audit = [
      id('aud'),
      tenant,
      null,
      'user',
      principal,
      'tenant:owner',
      '127.0.0.1',
      'bench',
      'project.create',
      'project',
      projectId,
      'success',
      null,
      'tenant:owner holds project.create',
      key,
      '{}',
    ];
    later(run(client, EVENT, event));
    later(run(client, AUDIT, audit));
    later(run(client, REMEMBER, [tenant, principal, 'projectCreate', key, hash, 201, Buffer.from(text), false]));
    return row;
  });

const bodyOf = async (req: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of req) text += chunk;
  return text;
};

const server = createServer((req, res) => {
  const answer = async () => {
    const row =
      req.method === 'GET'
        ? await read((req.url ?? '').split('/').at(-1) ?? '')
        : await write(String(req.headers['idempotency-key']), JSON.parse(await bodyOf(req)));
    res.writeHead(req.method === 'GET' ? 200 : 201, { 'content-type': 'application/json' }).end(JSON.stringify(row));
  };
  answer().catch(() => res.writeHead(500).end());
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.on('SIGTERM', () => process.exit(0));
