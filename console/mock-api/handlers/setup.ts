/** The site as a whole: its checks and the steps of its setup, judged by the rules of the server, and its backups. */
import { judgeSite, siteState } from '../../../server/src/domain/doctor.ts';
import type { GatheredFacts, SiteFacts } from '../../../server/src/domain/doctor-facts.ts';
import { isNodeOver } from '../../../server/src/domain/node-state.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { setupSteps } from '../../../server/src/domain/setup.ts';
import type { MockCtx, Req } from '../core/context.ts';
import { invalidField } from '../core/errors.ts';
import { asIs, pageOf } from '../core/page.ts';
import type { Backup } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { ISSUER } from '../seed/people.ts';
import { gpusOf } from '../simulation/gpu-model.ts';
import { defaultImages } from '../views/catalog.ts';

const VERSION = '0.1.0';
const DAY_MS = 86_400_000;
const SERVICES = [
  'gpuaas-api',
  'gpuaas-api',
  'gpuaas-provisioning-worker,gpuaas-outbox-relay',
  'gpuaas-node-api',
  'gpuaas-terminal-gateway',
];

const newestFirst = (backups: readonly Backup[]): Backup[] =>
  backups.toSorted((a, b) => b.taken_at.localeCompare(a.taken_at) || b.id.localeCompare(a.id));

const nodesOf = (world: World) => [...world.nodes.values()].filter(({ state }) => !isNodeOver(state));

const factsOf = (world: World): SiteFacts => {
  const nodes = nodesOf(world);
  const at = (ms: number): string => new Date(world.now() + ms).toISOString();
  const answered = { ok: true, duration_ms: 12 } as const;
  return {
    database: {
      version: '17.2',
      version_number: 170_002,
      account: 'gpuaas_api',
      passes_policies: false,
      owns_tables: false,
      is_production: true,
    },
    schema: { expected: ['0001_identity.sql'], applied: ['0001_identity.sql'] },
    writable: { is_standby: false, is_read_only: false, replay_lag_s: null },
    standbys: { count: 1, lag_s: 0.2 },
    clock: { ahead_ms: 3, round_trip_ms: 2 },
    issuer: {
      url: ISSUER,
      is_embedded: false,
      clients: ['gpuaas-console', 'gpuaas-cli'],
      audience: 'gpuaas-api',
      reached: { ok: true, duration_ms: 85, keys: 2 },
    },
    platform_keys: {
      keys: world.platformKeys.map(({ kind, version, state }) => ({
        kind,
        version,
        state,
        state_age_s: DAY_MS / 1000,
      })),
      holders: [{ kind: 'platform', service: 'gpuaas-api', versions: [1, 2] }],
    },
    trust_keys: {
      keys: world.trustKeys.map(({ purpose, state }) => ({ purpose, state, state_age_s: DAY_MS / 1000 })),
      ca_ends_at: at(3_600 * DAY_MS),
    },
    named_hosts: { is_required: world.requiresNamedHost, is_production: true },
    gateway: {
      is_running: true,
      public_url: 'wss://gateway.example.com',
      certificate: { names: ['gateway-1.example.com'], ends_at: at(5 * DAY_MS) },
      reached: answered,
    },
    public_tls: {
      url: 'https://gpuaas.example.com',
      reached: { ...answered, ends_at: at(11 * DAY_MS), refusal: null },
    },
    wildcard_tls: null,
    nats: answered,
    processes: { services: SERVICES, needs_relay: true },
    gpu_models: {
      nodes_compared: nodes.filter((node) => gpusOf(world, node).gpus_found.length > 0).length,
      conflicts: nodes.flatMap((node) => gpusOf(world, node).gpu_model_conflict ?? []),
    },
    agents: {
      server_version: VERSION,
      agents: nodes.flatMap(({ name, agent_version, is_connected, clock_skew_ms }) =>
        agent_version === null ? [] : [{ name, version: agent_version, is_connected, clock_skew_ms }],
      ),
    },
    images: {
      images: world.images
        .filter(({ enabled }) => enabled)
        .map(({ name, digest }) => ({
          name,
          nodes_with_it: nodes.filter(({ images }) => images.some((one) => one.digest === digest)).length,
        })),
      active_nodes: nodes.filter(({ state }) => state === 'active').length,
    },
    outbox: { unsent: 0, oldest_age_s: 0 },
    sealer: { rows_s: 1, heads_s: 1 },
    audit_archive: { lag_s: 0, online_days: 400 },
    restore: { newest: null, held_nodes: 0 },
    backup: { newest: newestFirst(world.backups)[0] ?? null, max_age_h: 26 },
  };
};

const firstOf = (skus: readonly Readonly<{ name: string }>[]): string | null =>
  skus.map(({ name }) => name).toSorted()[0] ?? null;

const setupOf = (world: World) => {
  const nodes = nodesOf(world);
  const slots = [...world.slots.values()];
  const enabled = world.skus.filter((sku) => sku.enabled && sku.retired_at === null);
  const slices = enabled.filter(({ capacity_shape }) => capacity_shape === 'gpu_slice');
  return setupSteps({
    issuer: { url: ISSUER, is_embedded: false },
    superadmin_emails: 1,
    users: world.users.size,
    superadmins: [...world.users.values()].filter(({ platform_role }) => platform_role === 'superadmin').length,
    trust_purposes: world.trustKeys.filter(({ state }) => state === 'active').map(({ purpose }) => purpose),
    newest_backup_at: newestFirst(world.backups)[0]?.taken_at ?? null,
    regions: world.regions.filter((region) => region.enabled).length,
    skus: enabled.length,
    priced_skus: enabled.length,
    sku_without_profile: firstOf(
      slices.filter(({ name, allowed_gpu_counts }) =>
        allowed_gpu_counts.some(
          (count) =>
            !world.vmProfiles.some(
              (one) => one.sku_name === name && one.gpu_count === count && one.is_default && one.retired_at === null,
            ),
        ),
      ),
    ),
    sku_without_image: firstOf(
      slices.filter(
        ({ name }) =>
          !world.images.some(
            (one) =>
              one.enabled && one.channel === 'stable' && one.trust === 'verified' && one.sku_names.includes(name),
          ),
      ),
    ),
    sku_without_default_image: firstOf(
      slices.filter(
        ({ name }) =>
          !defaultImages(world).some((one) => one.sku_names.includes(name) && one.default_regions.length > 0),
      ),
    ),
    region_name: world.regions.find((region) => region.enabled)?.name ?? null,
    sku_name: enabled[0]?.name ?? null,
    sign_up: { policy: 'invited', is_decided: false },
    nodes: nodes.length,
    newest_node: nodes.at(-1)?.name ?? null,
    enrolled_nodes: nodes.filter(({ agent_version }) => agent_version !== null).length,
    discovered_nodes: nodes.filter(({ discovered_at }) => discovered_at !== null).length,
    approved_nodes: nodes.filter(({ id }) => slots.some((slot) => slot.node_id === id && slot.approval === 'approved'))
      .length,
    has_launched: world.usage.length > 0,
  });
};

export const setup = {
  adminDoctorGet: async ({ world }: MockCtx) => {
    const facts = Object.fromEntries(
      Object.entries(factsOf(world)).map(([name, value]) => [name, { value }]),
    ) as GatheredFacts;
    const checks = judgeSite(facts, new Date(world.now()));
    return { state: siteState(checks), checked_at: world.ago(), duration_ms: 96, server_version: VERSION, checks };
  },
  adminSetupGet: async ({ world }: MockCtx) => {
    const steps = setupOf(world);
    const next = steps.find(({ state }) => state === 'next')?.key ?? null;
    const node_id = nodesOf(world).at(-1)?.id ?? null;
    const { requiresNamedHost: requires_named_host } = world;
    return { is_complete: next === null, next, read_at: world.ago(), requires_named_host, node_id, steps };
  },
  adminBackupList: async (ctx: MockCtx, { query }: Req<'adminBackupList'>) =>
    pageOf(ctx, query, newestFirst(ctx.world.backups), ({ id }) => id, asIs),
  adminBackupRecord: async (ctx: MockCtx, { body }: Req<'adminBackupRecord'>) => {
    const { world } = ctx;
    const takenAt = new Date(body.taken_at);
    if (takenAt.getTime() > world.now() + 60_000)
      throw invalidField('taken_at', 'must not be in the future', 'future', REFUSALS.backup_from_future);
    const taken_at = takenAt.toISOString();
    const known = world.backups.find((one) => one.taken_at === taken_at && one.location === body.location);
    const backup = known ?? {
      id: world.mint('backup'),
      taken_at,
      location: body.location,
      size_bytes: body.size_bytes ?? null,
      recorded_at: world.ago(),
      recorded_by: ctx.principal.id,
    };
    if (known === undefined) world.backups.push(backup);
    return { ...backup };
  },
};
