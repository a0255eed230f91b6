/** Every outcome of every check of the site, from one healthy site and one changed fact each. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { judgeSite, SITE_CHECKS, type SiteCheck, siteState } from './doctor.ts';
import type { FactName, GatheredFacts, SiteFacts } from './doctor-facts.ts';
import { isOlder } from './doctor-services.ts';
import { listed, span } from './doctor-verdict.ts';

const NOW = new Date('2026-11-18T12:00:00.000Z');
const at = (seconds: number): string => new Date(NOW.getTime() + seconds * 1000).toISOString();
const DAY_S = 86_400;
const answered = { ok: true, duration_ms: 12 } as const;
const lost = { ok: false, reason: 'ECONNREFUSED' } as const;
const agent = (more: Partial<SiteFacts['agents']['agents'][number]> = {}) => ({
  name: 'j22u15',
  version: '0.1.0',
  is_connected: true,
  clock_skew_ms: 3,
  ...more,
});
const trust = (purpose: string, state = 'active', state_age_s = DAY_S) => ({ purpose, state, state_age_s });
const key = (kind: 'platform' | 'trust', version: number, state: string, state_age_s = DAY_S) => ({
  kind,
  version,
  state,
  state_age_s,
});

const HEALTHY: SiteFacts = {
  database: {
    version: '17.2',
    version_number: 170_002,
    account: 'gpuaas_api',
    passes_policies: false,
    owns_tables: false,
    is_production: true,
  },
  schema: { expected: ['0001_a.sql', '0002_b.sql'], applied: ['0001_a.sql', '0002_b.sql'] },
  writable: { is_standby: false, is_read_only: false, replay_lag_s: null },
  standbys: { count: 2, lag_s: 0.2 },
  clock: { ahead_ms: 900, round_trip_ms: 4 },
  issuer: {
    url: 'https://login.example.com',
    is_embedded: false,
    clients: ['gpuaas-console', 'gpuaas-cli'],
    audience: 'gpuaas-api',
    reached: { ok: true, duration_ms: 80.4, keys: 2 },
  },
  platform_keys: {
    keys: [key('platform', 2, 'active'), key('platform', 1, 'retired'), key('trust', 1, 'active')],
    holders: [
      { kind: 'platform', service: 'gpuaas-api', versions: [1, 2] },
      { kind: 'trust', service: 'gpuaas-node-api', versions: [1] },
    ],
  },
  trust_keys: {
    keys: [trust('node_ca'), trust('task_signer'), trust('certificate_signer')],
    ca_ends_at: at(3_000 * DAY_S),
  },
  named_hosts: { is_required: true, is_production: true },
  gateway: {
    is_running: true,
    public_url: 'wss://gateway.example.com',
    certificate: { names: ['gateway-1.example.com'], ends_at: at(5 * DAY_S) },
    reached: answered,
  },
  public_tls: { url: 'https://gpuaas.example.com', reached: { ...answered, ends_at: at(60 * DAY_S), refusal: null } },
  wildcard_tls: { name: '*.apps.example.com', reached: { ...answered, ends_at: at(60 * DAY_S), refusal: null } },
  nats: answered,
  processes: {
    services: ['gpuaas-api', 'gpuaas-provisioning-worker,gpuaas-outbox-relay', 'gpuaas-node-api'],
    needs_relay: true,
  },
  agents: { server_version: '0.1.0', agents: [agent(), agent({ name: 'j22u17', version: '0.2.0' })] },
  gpu_models: { nodes_compared: 2, conflicts: [] },
  images: { images: [{ name: 'ubuntu', nodes_with_it: 2 }], active_nodes: 3 },
  outbox: { unsent: 1, oldest_age_s: 1 },
  sealer: { rows_s: 1, heads_s: 2 },
  audit_archive: { lag_s: 20 * DAY_S, online_days: 400 },
  restore: { newest: { began_at: at(-7_200), reason: 'An earlier one.' }, held_nodes: 0 },
  backup: { newest: { taken_at: at(-7_200), location: 's3://backups/gpuaas' }, max_age_h: 26 },
};

const gathered = (facts: SiteFacts): GatheredFacts =>
  Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, { value }])) as GatheredFacts;
const found = (checks: readonly SiteCheck[], name: string): SiteCheck => {
  const check = checks.find((one) => one.key === name);
  assert.ok(check, name);
  return check;
};
const judged = <K extends FactName>(name: K, value: SiteFacts[K]): SiteCheck =>
  found(judgeSite(gathered({ ...HEALTHY, [name]: value }), NOW), name);

test('a healthy site is in order in every check, and no check asks for anything', () => {
  const checks = judgeSite(gathered(HEALTHY), NOW);
  assert.deepEqual(
    checks.filter(({ state, cure }) => state !== 'ok' || cure !== null),
    [],
  );
  assert.equal(checks.length, Object.keys(HEALTHY).length, 'each fact is judged once');
  assert.equal(new Set(SITE_CHECKS.map((check) => check.key)).size, SITE_CHECKS.length);
  assert.equal(siteState(checks), 'ok');
});

type Outcome = {
  [K in FactName]: readonly [K, Partial<NonNullable<SiteFacts[K]>> | null, SiteCheck['state'], RegExp];
}[FactName];

const OUTCOMES: readonly Outcome[] = [
  ['database', { version_number: 140_010 }, 'failed', /needs PostgreSQL 15/],
  ['database', { passes_policies: true }, 'failed', /bypasses row-level security/],
  ['database', { owns_tables: true }, 'failed', /owns the tables/],
  ['database', { owns_tables: true, is_production: false }, 'ok', /Row-level security applies/],
  ['schema', { applied: ['0001_a.sql'] }, 'failed', /1 migration of this build is missing: 0002_b\.sql/],
  ['schema', { applied: [] }, 'failed', /2 migrations of this build are missing/],
  ['schema', { expected: ['0001_a.sql'] }, 'warning', /does not know: 0002_b\.sql/],
  ['writable', { is_standby: true, replay_lag_s: 600 }, 'failed', /standby, 10 minutes behind/],
  ['writable', { is_standby: true }, 'failed', /The database is a standby, and accepts no writes/],
  ['writable', { is_read_only: true }, 'failed', /read-only by default/],
  ['standbys', { count: 0, lag_s: 0 }, 'not_configured', /No standby streams/],
  ['standbys', { count: 1, lag_s: null }, 'ok', /1 standby connected\. This account may not read/],
  ['standbys', { lag_s: 300 }, 'warning', /2 standbys connected, at most 5 minutes behind/],
  ['clock', { ahead_ms: -5_000 }, 'warning', /5 seconds behind this server/],
  ['clock', { ahead_ms: 180_000 }, 'failed', /3 minutes ahead of/],
  ['clock', { ahead_ms: 3_000, round_trip_ms: 4_000 }, 'ok', /agree/],
  ['issuer', { is_embedded: true, reached: null }, 'ok', /embedded issuer/],
  ['issuer', { reached: null }, 'ok', /embedded issuer/],
  ['issuer', { reached: lost }, 'failed', /does not respond: ECONNREFUSED/],
  ['issuer', { reached: { ...answered, keys: 0 } }, 'failed', /no signing key/],
  ['issuer', { reached: { ok: true, duration_ms: 2_500, keys: 1 } }, 'warning', /2500 ms with 1 key\./],
  ['platform_keys', { keys: [key('trust', 1, 'active')] }, 'failed', /No platform key/],
  ['platform_keys', { keys: [key('platform', 1, 'active')], holders: [] }, 'failed', /No trust key/],
  [
    'platform_keys',
    { holders: [{ kind: 'platform', service: 'gpuaas-api', versions: [1] }] },
    'failed',
    /gpuaas-api lacks version 2 of the platform key/,
  ],
  [
    'platform_keys',
    { keys: [key('platform', 2, 'active'), key('platform', 1, 'retiring', 7_200), key('trust', 1, 'active')] },
    'warning',
    /Version 1 of the platform key has been retiring for 2 hours/,
  ],
  [
    'platform_keys',
    {
      keys: [key('platform', 2, 'active'), key('trust', 2, 'active'), key('trust', 1, 'retiring', 9_000)],
      holders: [],
    },
    'warning',
    /Version 1 of the trust key/,
  ],
  [
    'platform_keys',
    { keys: [key('platform', 2, 'active'), key('platform', 1, 'retiring', 60), key('trust', 1, 'active')] },
    'ok',
    /platform key version 2 and trust key version 1/,
  ],
  ['trust_keys', { keys: [trust('node_ca'), trust('task_signer')] }, 'failed', /no active certificate_signer/],
  [
    'trust_keys',
    { keys: [...HEALTHY.trust_keys.keys, trust('node_ca', 'requested', 90)] },
    'failed',
    /requested node_ca key was not created/,
  ],
  ['trust_keys', { keys: [...HEALTHY.trust_keys.keys, trust('node_ca', 'requested', 5)] }, 'ok', /Every purpose/],
  ['trust_keys', { ca_ends_at: null }, 'failed', /no readable certificate/],
  ['trust_keys', { ca_ends_at: at(-60) }, 'failed', /ended on 2026-11-18/],
  ['trust_keys', { ca_ends_at: at(30 * DAY_S) }, 'warning', /ends on 2026-12-18, in 30 days/],
  ['gateway', { is_running: false, reached: lost }, 'not_configured', /No gpuaas-terminal-gateway runs/],
  ['gateway', { certificate: { refusal: 'x is not in GPUAAS_GATEWAY_NAMES.' } }, 'failed', /refused a certificate/],
  ['gateway', { certificate: { names: ['g'], ends_at: at(-7_200) } }, 'failed', /ended 2 hours ago/],
  ['gateway', { certificate: { names: ['g'], ends_at: at(DAY_S) } }, 'warning', /Certificate for g until 2026-11-19/],
  ['gateway', { certificate: null }, 'ok', /No gateway has asked/],
  ['gateway', { reached: lost }, 'failed', /cannot be reached from gpuaas-api: ECONNREFUSED/],
  ['public_tls', { url: 'http://localhost:8080', reached: null }, 'not_configured', /without TLS/],
  ['public_tls', { reached: lost }, 'failed', /cannot be reached/],
  [
    'public_tls',
    { reached: { ...answered, ends_at: at(9 * DAY_S), refusal: 'CERT_HAS_EXPIRED' } },
    'failed',
    /Clients refuse .* CERT_HAS_EXPIRED/,
  ],
  ['public_tls', { reached: { ...answered, ends_at: at(9 * DAY_S), refusal: null } }, 'warning', /in 9 days/],
  ['wildcard_tls', null, 'not_configured', /GPUAAS_WILDCARD_TLS_NAME/],
  ['wildcard_tls', { reached: lost }, 'failed', /\*\.apps\.example\.com cannot be reached/],
  ['nats', null, 'not_configured', /no NATS_URL/],
  ['nats', lost, 'failed', /NATS does not respond/],
  [
    'processes',
    { services: ['gpuaas-api', 'gpuaas-node-api'] },
    'failed',
    /gpuaas-provisioning-worker, gpuaas-outbox-relay/,
  ],
  [
    'processes',
    { services: ['gpuaas-api,gpuaas-provisioning-worker,gpuaas-node-api'], needs_relay: false },
    'ok',
    /1 process seen/,
  ],
  ['agents', { agents: [] }, 'not_configured', /No agent has connected/],
  [
    'agents',
    { agents: [agent(), agent({ name: 'a', is_connected: false })] },
    'warning',
    /1 agent of 2 disconnected: a/,
  ],
  ['agents', { agents: [agent({ clock_skew_ms: -6_000 })] }, 'warning', /Clocks of hosts .* j22u15/],
  ['agents', { server_version: '0.2.0' }, 'warning', /1 agent of 2 older than the server \(0\.2\.0\): j22u15/],
  ['named_hosts', { is_required: false }, 'warning', /also if the token was stolen/],
  ['named_hosts', { is_required: false, is_production: false }, 'not_configured', /In development the first host/],
  ['gpu_models', { conflicts: ['Node a.', 'Node b.'] }, 'failed', /2 nodes of 2 have GPUs of another model/],
  ['gpu_models', { nodes_compared: 0 }, 'not_configured', /No discovery/],
  [
    'gpu_models',
    { conflicts: ['Node a was added as H200 SXM, but discovery found 8 H100 SXM.'] },
    'failed',
    /1 node of 2 has GPUs of another model .*8 H100 SXM/,
  ],
  ['images', { images: [] }, 'warning', /No image is registered/],
  ['images', { active_nodes: 0 }, 'not_configured', /1 image registered/],
  ['images', { images: [{ name: 'debian', nodes_with_it: 0 }] }, 'warning', /No host has debian/],
  ['outbox', { unsent: 40, oldest_age_s: 180 }, 'warning', /40 events waiting; .* 3 minutes ago/],
  ['outbox', { oldest_age_s: 1_000 }, 'failed', /17 minutes ago/],
  ['restore', { held_nodes: 2 }, 'failed', /2 nodes got no task that destroys data for 2 hours: an earlier one/i],
  ['sealer', { rows_s: 300 }, 'warning', /waited 5 minutes for its seal/],
  ['sealer', { heads_s: 7_200 }, 'failed', /waited 2 hours for its signed head/],
  ['audit_archive', null, 'warning', /No archive directory is set/],
  ['audit_archive', { lag_s: 50 * DAY_S }, 'failed', /due for the archive for 50 days/],
  ['backup', { newest: null }, 'warning', /No backup/],
  [
    'backup',
    { newest: { taken_at: at(-3 * DAY_S), location: 'tape' } },
    'warning',
    /3 days old, at tape\. At most 26 hours/,
  ],
];

for (const [name, change, state, detail] of OUTCOMES)
  test(`the check ${name} is ${state} where it finds ${detail.source}`, () => {
    const value = change === null ? null : { ...HEALTHY[name], ...change };
    const check = judged(name, value as never);
    assert.equal(check.state, state, check.detail);
    assert.match(check.detail, detail);
    assert.match(check.detail, /^[A-Za-z0-9*].*\.$/, 'a sentence');
    assert.equal(check.cure === null, state === 'ok' || state === 'not_configured', 'a cure for what is not in order');
  });

test('a fact that could not be read makes its own check unknown, with the reason', () => {
  const checks = judgeSite({ ...gathered(HEALTHY), nats: { unknown: 'it did not respond within 4 s.' } }, NOW);
  const nats = found(checks, 'nats');
  assert.equal(nats.state, 'unknown');
  assert.match(nats.detail, /did not respond within 4 s/);
  assert.ok(checks.every(({ key, state }) => key === 'nats' || state === 'ok'));
  assert.equal(siteState(checks), 'warning');
  assert.equal(siteState([{ state: 'unknown' }, { state: 'failed' }]), 'failed');
  assert.equal(siteState([{ state: 'warning' }]), 'warning');
  assert.equal(siteState([{ state: 'not_configured' }]), 'ok');
});

test('a release is older by its numbers, and a pre-release is older than its release', () => {
  for (const [version, than] of [
    ['0.1.0', '0.2.0'],
    ['0.9.0', '0.10.0'],
    ['1.0.0-rc.1', '1.0.0'],
  ] as const)
    assert.deepEqual([isOlder(version, than), isOlder(than, version)], [true, false], `${version} < ${than}`);
  for (const [version, than] of [
    ['1.0.0', '1.0.0'],
    ['development', '1.0.0'],
    ['1.0.0', 'development'],
  ] as const)
    assert.equal(isOlder(version, than), false);
});

test('lists end after five names, and spans have one unit', () => {
  assert.equal(listed(['a', 'b', 'c', 'd', 'e', 'f', 'g']), 'a, b, c, d, e and 2 more');
  assert.deepEqual(
    [span(1), span(90), span(600), span(7_200), span(-90_000), span(400_000)],
    ['1 second', '90 seconds', '10 minutes', '2 hours', '25 hours', '5 days'],
  );
});

test('the table of the document has every check, in order, with its runbook', () => {
  const text = readFileSync(new URL('../../../doc/operations/doctor.md', import.meta.url), 'utf8');
  const [, table = ''] = /^\| check \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(text) ?? [];
  const rows = table.trim().split('\n');
  const documented = rows.flatMap((row) => {
    const [keys = '', , runbooks = ''] = row.split(' | ');
    const links = [...runbooks.matchAll(/\(runbooks\/([^)]+)\)/g)].map(([, file]) => file);
    return [...keys.matchAll(/`(\w+)`/g)].map(([, key], index) => [key, links[index] ?? links[0] ?? null]);
  });
  assert.deepEqual(
    documented,
    SITE_CHECKS.map(({ key, runbook }) => [key, runbook]),
  );
});
