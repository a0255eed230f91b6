/** A real Keycloak for a test: started from its distribution, with the realm that the operators' recipe describes. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { until } from '../../server/test/until.ts';
import { KEYCLOAK_HOME } from '../../tools/test/keycloak.ts';

const run = promisify(execFile);
const REALM_FILE = new URL('../../infra/keycloak/gpuaas-realm.json', import.meta.url);
const EXPORT_SCRIPT = fileURLToPath(new URL('../../infra/keycloak/export-members.sh', import.meta.url));
const EXAMPLE = 'https://gpuaas.example.com';
const ADMIN = { username: 'admin', password: 'admin-of-a-test' };
/** In no group but those that a test gives. */
export const MEMBER = { username: 'grace', password: 'wrong horse no battery', email: 'grace@example.com' };
export const GROUP = 'gpu-users';
export const USER = { username: 'ada', password: 'correct horse battery', email: 'ada@example.com' };
/** The first start of a fresh distribution also assembles it. */
const START_MS = 600_000;

type Client = Record<string, unknown> & { clientId: string };

export type Keycloak = Readonly<{
  url: string;
  issuer: string;
  /** An access token of the user, without a browser. */
  token(client: string): Promise<string>;
  /** Puts MEMBER into GROUP, or takes them out. */
  setMember(isMember: boolean): Promise<void>;
  /** Whether tokens of the client carry the audience of the recipe. */
  setAudience(client: string, isSet: boolean): Promise<void>;
  /** What the script of the recipe prints about GROUP. */
  exportMembers(): Promise<string>;
  /** The realm signs with a new key; the earlier ones stay published, or do not. */
  rotate(keeps: 'earlier' | 'none'): Promise<void>;
  stop(): Promise<void>;
}>;

export const claimsOf = (jwt: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());

/** As the recipe has it, for this address; with a user, and clients that a test can use without a browser. */
const realmFor = (publicUrl: string): object => {
  const realm = JSON.parse(readFileSync(REALM_FILE, 'utf8').replaceAll(EXAMPLE, publicUrl)) as { clients: Client[] };
  const cli = realm.clients.find(({ clientId }) => clientId === 'gpuaas-cli');
  assert.ok(cli);
  const direct = { ...cli, directAccessGrantsEnabled: true };
  return {
    ...realm,
    clients: [
      ...realm.clients,
      { ...direct, clientId: 'test-direct' },
      { ...direct, clientId: 'test-no-audience', protocolMappers: [] },
    ],
    users: [
      {
        ...{ username: USER.username, email: USER.email, emailVerified: true, enabled: true },
        ...{ firstName: 'Ada', lastName: 'Lovelace', groups: ['/gpu-users'] },
        credentials: [{ type: 'password', value: USER.password, temporary: false }],
      },
      {
        ...{ username: MEMBER.username, email: MEMBER.email, emailVerified: true, enabled: true },
        ...{ firstName: 'Grace', lastName: 'Hopper' },
        credentials: [{ type: 'password', value: MEMBER.password, temporary: false }],
      },
    ],
  };
};

const passwordGrant = async (realmUrl: string, form: Record<string, string>): Promise<string> => {
  const answer = await fetch(`${realmUrl}/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', ...form }),
  });
  const body = (await answer.json()) as { access_token?: string };
  assert.equal(answer.status, 200, JSON.stringify(body));
  return body.access_token ?? '';
};

export const startKeycloak = async (
  t: TestContext,
  { port, publicUrl }: Readonly<{ port: number; publicUrl: string }>,
): Promise<Keycloak> => {
  const url = `http://127.0.0.1:${port}`;
  const words = ['start-dev', '--db=dev-mem', '--http-host=127.0.0.1', `--http-port=${port}`];
  const child = spawn(join(KEYCLOAK_HOME, 'bin/kc.sh'), words, {
    env: {
      ...process.env,
      KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
      KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
      JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
    },
    // Its own group: the script starts Java.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4_000);
    });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL');
    await ended;
  };
  t.after(stop);
  const answers = async (): Promise<boolean> => {
    assert.equal(child.exitCode, null, output);
    return (await fetch(`${url}/realms/master`).catch(() => undefined))?.status === 200;
  };
  await until('Keycloak answers', answers, START_MS);

  const admin = async (method: string, path: string, body?: object): Promise<unknown> => {
    const token = await passwordGrant(`${url}/realms/master`, { client_id: 'admin-cli', ...ADMIN });
    const answer = await fetch(`${url}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  await admin('POST', '', realmFor(publicUrl));
  const { id } = (await admin('GET', '/gpuaas')) as { id: string };

  const KEYS = 'org.keycloak.keys.KeyProvider';
  let priority = 200;
  const rotate: Keycloak['rotate'] = async (keeps) => {
    const earlier = (await admin('GET', `/gpuaas/components?type=${KEYS}`)) as { id: string; providerId: string }[];
    priority += 1;
    await admin('POST', '/gpuaas/components', {
      ...{ name: `rsa-${priority}`, providerId: 'rsa-generated', providerType: KEYS, parentId: id },
      config: { priority: [String(priority)], enabled: ['true'], active: ['true'], algorithm: ['RS256'] },
    });
    if (keeps === 'earlier') return;
    for (const key of earlier.filter(({ providerId }) => providerId === 'rsa-generated'))
      await admin('DELETE', `/gpuaas/components/${key.id}`);
  };
  const issuer = `${url}/realms/gpuaas`;

  type Named = Readonly<{ id: string; name?: string }>;
  const onlyOne = (found: unknown): Named => {
    const [one] = found as readonly Named[];
    assert.ok(one !== undefined, 'Keycloak knows it');
    return one;
  };
  const setMember: Keycloak['setMember'] = async (isMember) => {
    const user = onlyOne(await admin('GET', `/gpuaas/users?exact=true&username=${MEMBER.username}`));
    const group = onlyOne(await admin('GET', `/gpuaas/groups?exact=true&search=${GROUP}`));
    await admin(isMember ? 'PUT' : 'DELETE', `/gpuaas/users/${user.id}/groups/${group.id}`);
  };
  const setAudience: Keycloak['setAudience'] = async (name, isSet) => {
    const client = onlyOne(await admin('GET', `/gpuaas/clients?clientId=${name}`));
    const path = `/gpuaas/clients/${client.id}/protocol-mappers/models`;
    const mapper = ((await admin('GET', path)) as Named[]).find((one) => one.name === 'audience of GPUaaS');
    if (!isSet && mapper !== undefined) await admin('DELETE', `${path}/${mapper.id}`);
    if (isSet && mapper === undefined) {
      const { clients } = JSON.parse(readFileSync(REALM_FILE, 'utf8')) as { clients: Client[] };
      const own = clients.find(({ clientId }) => clientId === name)?.['protocolMappers'] as Named[];
      await admin(
        'POST',
        path,
        own.find((one) => one.name === 'audience of GPUaaS'),
      );
    }
  };
  const exportMembers: Keycloak['exportMembers'] = async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kcadm-'));
    t.after(() => rm(directory, { recursive: true }));
    const config = join(directory, 'kcadm.config');
    const kcadm = join(KEYCLOAK_HOME, 'bin/kcadm.sh');
    const signIn = ['config', 'credentials', '--config', config, '--server', url, '--realm', 'master'];
    await run(kcadm, [...signIn, '--user', ADMIN.username, '--password', ADMIN.password]);
    const env = { ...process.env, KCADM: kcadm, KCADM_CONFIG: config };
    return (await run(EXPORT_SCRIPT, [issuer, GROUP], { env })).stdout;
  };
  return {
    ...{ url, issuer, rotate, stop, setMember, setAudience, exportMembers },
    token: (client_id) =>
      passwordGrant(issuer, { client_id, scope: 'openid', username: USER.username, password: USER.password }),
  };
};
