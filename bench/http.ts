/**
 * The cost of our layers: requests per second of the API divided by those of a bare server that runs the same SQL.
 * Slices alternate, so a slow second of the host affects both; the median pair counts.
 */
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mintId, silentLog } from '@gpuaas/kit';
import autocannon from 'autocannon';
import { insertApiToken } from '../server/src/db/api-token.ts';
import { createDatabase, PLATFORM } from '../server/src/db/client.ts';
import { APP_ROLE, migrate } from '../server/src/db/migrate.ts';
import { insertMembership } from '../server/src/db/organization.ts';
import { insertProject } from '../server/src/db/project.ts';
import { insertOrganization } from '../server/src/db/statements/new-organization.ts';
import { insertUser } from '../server/src/db/user.ts';
import { mintToken } from '../server/src/identity/token.ts';
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../server/src/ports/postgres/embedded.ts';
import { startApi, startListening, stopChild } from './child.ts';
import { interleave } from './pairs.ts';
import type { Bench, Measurement } from './types.ts';

const PAIRS = 9;
const SLICE_S = 2;
const CONNECTIONS = 16;
const GOAL = '>=0.45';

type Fixture = Readonly<{ organization_id: string; project_id: string; user_id: string; token: string }>;

const seed = async (url: string): Promise<Fixture> => {
  const log = silentLog();
  await migrate({ url, log });
  const database = createDatabase({ url, log, role: APP_ROLE });
  const fixture = { organization_id: mintId('org'), project_id: mintId('prj'), user_id: mintId('usr') };
  const { token, hash, prefix } = mintToken('personal');
  await database.write(PLATFORM, async (tx) => {
    await insertUser(tx, {
      id: fixture.user_id,
      issuer: 'bench',
      subject: 'bench',
      name: 'bench',
      email: null,
      email_verified: false,
      platform_role: null,
      state: 'active',
    });
    await insertOrganization(tx, {
      id: fixture.organization_id,
      name: 'bench',
      display_name: 'Bench',
      kind: 'personal',
      created_by: null,
      gpu_limit: null,
    });
    await insertMembership(tx, { organization_id: fixture.organization_id, user_id: fixture.user_id, role: 'owner' });
    await insertProject(tx, {
      id: fixture.project_id,
      organization_id: fixture.organization_id,
      name: 'default',
      display_name: 'Default',
    });
    await insertApiToken(tx, {
      id: mintId('tok'),
      kind: 'personal',
      user_id: fixture.user_id,
      service_account_id: null,
      organization_id: null,
      project_id: null,
      name: 'bench',
      token_prefix: prefix,
      token_hash: hash,
      scopes: ['all'],
      expires_in_s: 86_400,
    });
  });
  await database.end();
  return { ...fixture, token };
};

/** Requests per second of one slice against the server at this address. */
type Load = (url: string) => Promise<number>;

const slice = async (options: autocannon.Options): Promise<number> => {
  const result = await autocannon({ connections: CONNECTIONS, duration: SLICE_S, ...options });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refused, ${result.errors} failed of ${result.requests.total}`);
  return result.requests.average;
};

const readLoad =
  (fixture: Fixture): Load =>
  (url) =>
    slice({
      url: `${url}/api/v1/projects/${fixture.project_id}`,
      headers: { authorization: `Bearer ${fixture.token}` },
    });

const writeLoad =
  (fixture: Fixture): Load =>
  (url) =>
    slice({
      url,
      requests: [
        {
          method: 'POST',
          path: `/api/v1/organizations/${fixture.organization_id}/projects`,
          setupRequest: (request) => {
            const key = randomUUID();
            return {
              ...request,
              headers: {
                authorization: `Bearer ${fixture.token}`,
                'content-type': 'application/json',
                'idempotency-key': key,
              },
              body: JSON.stringify({ name: `p-${key}` }),
            };
          },
        },
      ],
    });

const compare = async (name: string, load: Load, ours: string, bare: string): Promise<Measurement> => {
  const result = await interleave(
    () => load(ours),
    () => load(bare),
    PAIRS,
  );
  return {
    name,
    ratio: result.ratio,
    goal: GOAL,
    reference: `${Math.round(result.reference)} requests/s of bare node:http and pg with the same SQL`,
    ours: `${Math.round(result.ours)} requests/s`,
    pairs: result.pairs,
  };
};

const withServers = async <T>(fn: (ours: string, bare: string, fixture: Fixture) => Promise<T>): Promise<T> => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-bench-'));
  const postgres = await startEmbeddedPostgres({ dataDir: join(dir, 'pg') });
  const children: ChildProcess[] = [];
  try {
    const fixture = await seed(postgres.url);
    const bare = await startListening(
      'bench/http/bare-server.ts',
      [],
      { DATABASE_URL: postgres.url, BENCH_ORGANIZATION: fixture.organization_id, BENCH_PRINCIPAL: fixture.user_id },
      (line) => line,
    );
    children.push(bare.child);
    const ours = await startApi(postgres.url, dir);
    children.push(ours.child);
    return await fn(ours.url, bare.url, fixture);
  } finally {
    for (const child of children) await stopChild(child);
    await postgres.stop();
    await removeEmbeddedPostgres(join(dir, 'pg'));
    await rm(dir, { recursive: true, force: true });
  }
};

export const httpReadBench: Bench = {
  name: 'http-read',
  run: () => withServers((ours, bare, fixture) => compare('http-read', readLoad(fixture), ours, bare)),
};
export const httpWriteBench: Bench = {
  name: 'http-write',
  run: () => withServers((ours, bare, fixture) => compare('http-write', writeLoad(fixture), ours, bare)),
};
