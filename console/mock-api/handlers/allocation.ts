import { ENDED_ALLOCATION_STATES } from '@gpuaas/contract';
import { fitsNow, place } from '@gpuaas/scheduler';
import { maxDurationRefusal, releaseRefusal, updateRefusal } from '../../../server/src/domain/allocation-actions.ts';
import { checkLaunch, type LaunchRefusal, placementRefusal } from '../../../server/src/domain/launch.ts';
import { REASONS } from '../../../server/src/domain/reasons.ts';
import { FIELD_MESSAGES, REFUSALS } from '../../../server/src/domain/sentences.ts';
import { stepLabel, workflowWords } from '../../../server/src/domain/workflow-steps.ts';
import { assertVersion, type MockCtx, must, organizationOf, projectOf, type Req } from '../core/context.ts';
import { invalidField, notFound, Refusal, refuse } from '../core/errors.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { Allocation } from '../core/rows.ts';
import { claimSlots, moveAllocation, planRelease, provision, startRelease } from '../simulation/allocation.ts';
import { expectedFor } from '../simulation/expected.ts';
import { snapshotOf } from '../simulation/placement.ts';
import { quotaLeft } from '../simulation/usage.ts';
import { allocationView } from '../views/allocation.ts';
import { hasHost, isDefaultImage, skuPriceAt } from '../views/catalog.ts';

const ENDED: readonly Allocation['state'][] = ENDED_ALLOCATION_STATES;
const HOURS = { hour: 1, day: 24, month: 730 };

export const getAllocation = (ctx: MockCtx, id: string): Allocation => {
  const row = ctx.world.allocations.get(id);
  return must(row?.project_id === projectOf(ctx) ? row : undefined, 'allocation');
};

type Launch = Req<'allocationEstimate'>['body'] &
  Pick<Partial<Req<'allocationCreate'>['body']>, 'vm_profile' | 'storage' | 'network'>;

/** The catalog and quota facts of a launch, as the launch rule needs them. */
const findFacts = (ctx: MockCtx, body: Launch) => {
  const { world } = ctx;
  const sku = world.skus.find((one) => one.name === body.sku_name && one.retired_at === null);
  const price = skuPriceAt(world, body.sku_name);
  const region = world.regions.find((one) => one.name === body.region_name && one.retired_at === null);
  const images = world.images.filter(
    (one) => one.retired_at === null && one.enabled && one.sku_names.includes(body.sku_name),
  );
  const profiles = world.vmProfiles.filter(
    (one) => one.retired_at === null && one.sku_name === body.sku_name && one.gpu_count === body.gpu_count,
  );
  const wanted = body.image_name?.toLowerCase();
  return {
    sku:
      sku === undefined
        ? null
        : { ...sku, gpu_hourly_price_minor: price?.amount_minor ?? null, currency: price?.currency ?? null },
    region: region === undefined ? null : { ...region, has_host: hasHost(world, region.name) },
    image:
      images.find((one) =>
        wanted === undefined ? isDefaultImage(world, one, body.region_name) : one.name.toLowerCase() === wanted,
      ) ?? null,
    profile:
      profiles.find((one) => (body.vm_profile === undefined ? one.is_default : one.name === body.vm_profile)) ?? null,
    quota_gpus_remaining: quotaLeft(world, organizationOf(ctx), projectOf(ctx)),
  };
};

const refusedBy = (refusal: LaunchRefusal): Refusal => {
  switch (refusal.kind) {
    case 'missing':
      return new Refusal('not_found', REFUSALS.none_named(refusal.noun, refusal.name));
    case 'field':
      return invalidField(refusal.name, refusal.message, refusal.code);
    case 'not_offered':
      return new Refusal('sku_disabled', refusal.message);
  }
};

const checked = (ctx: MockCtx, body: Launch) => {
  const facts = findFacts(ctx, body);
  const ask = {
    sku_name: body.sku_name,
    region_name: body.region_name,
    gpu_count: body.gpu_count,
    image_name: body.image_name ?? null,
    vm_profile: body.vm_profile ?? null,
    storage: body.storage ?? null,
    network: body.network ?? null,
    organization_id: organizationOf(ctx),
  };
  const launch = checkLaunch(ask, facts);
  if ('kind' in launch) throw refusedBy(launch);
  const { gpu_model } = launch.sku;
  const { region_name } = ask;
  const snapshot = snapshotOf(ctx.world, (node) => node.gpu_model === gpu_model);
  const decision = place(launch.request, snapshot);
  const refused =
    decision.kind === 'placed'
      ? null
      : placementRefusal(
          decision,
          launch,
          expectedFor(ctx.world, launch.sku, region_name, ask.organization_id, body.gpu_count),
        );
  return { ...facts, ...launch, snapshot, decision, refused };
};

const assertNameFree = (ctx: MockCtx, name: string, except?: string): void => {
  const taken = [...ctx.world.allocations.values()].some(
    (one) => one.project_id === projectOf(ctx) && one.name === name && one.id !== except && !ENDED.includes(one.state),
  );
  if (taken) throw new Refusal('already_exists', REFUSALS.allocation_name_taken(name));
};

export const allocation = {
  allocationEstimate: async (ctx: MockCtx, { body }: Req<'allocationEstimate'>) => {
    const { sku, request, snapshot, refused, quota_gpus_remaining, choices, fabric } = checked(ctx, body);
    const fit = fitsNow(request, snapshot);
    const price = (hours: number) => ({
      amount_minor: sku.gpu_hourly_price_minor * body.gpu_count * hours,
      currency: sku.currency,
    });
    return {
      fits_now: refused === null,
      fits_on_nodes: Math.min(100, fit.nodes),
      largest_set: fit.largest_count,
      price_per_hour: price(HOURS.hour),
      price_per_day: price(HOURS.day),
      price_per_month: price(HOURS.month),
      quota_gpus_after: quota_gpus_remaining === null ? null : quota_gpus_remaining - body.gpu_count,
      code: refused?.code ?? null,
      reasons: refused?.reasons ?? [],
      alternatives: refused?.alternatives ?? [],
      ...choices,
      fabric,
      expected: refused?.expected ?? null,
    };
  },
  allocationCreate: async (ctx: MockCtx, { body }: Req<'allocationCreate'>) => {
    const { world, principal } = ctx;
    const { sku, region, decision, refused, storage, network, ...found } = checked(ctx, body);
    const keys = body.ssh_key_ids ?? [];
    if (keys.some((id) => world.sshKeys.get(id)?.user_id !== principal.id)) throw notFound('SSH key');
    if (refused !== null) {
      const { code, message, reasons, alternatives } = refused;
      throw new Refusal(code, message, { reasons, alternatives, retry_after_s: 30 });
    }
    const isSlice = sku.capacity_shape === 'gpu_slice';
    if (body.user_data !== undefined && !isSlice) throw invalidField('user_data', FIELD_MESSAGES.user_data_of_slice);
    assertNameFree(ctx, body.name);
    const spot = must(decision.kind === 'placed' ? decision : null, 'node');
    const slots = spot.slot_ids.flatMap((slot) => world.slots.get(slot) ?? []);
    const image = isSlice ? found.image : null;
    const profile = isSlice ? found.profile : null;
    const id = world.mint('allocation');
    const row: Allocation = {
      id,
      project_id: projectOf(ctx),
      organization_id: organizationOf(ctx),
      node_id: spot.node_id,
      slot_ids: [],
      name: body.name,
      capacity_shape: sku.capacity_shape,
      sku_name: sku.name,
      region_name: region.name,
      image_name: image?.name ?? null,
      image_digest: image?.digest ?? null,
      gpu_count: body.gpu_count,
      placement: {
        gpu_count: body.gpu_count,
        vm_profile: profile?.name ?? null,
        vcpu_count: profile?.vcpu_count ?? null,
        memory_mib: profile?.memory_mib ?? null,
        gpu_hourly_price: { amount_minor: sku.gpu_hourly_price_minor, currency: sku.currency },
      },
      storage,
      network,
      state: 'requested',
      state_reason: null,
      state_since: world.ago(),
      state_deadline_at: null,
      power: null,
      ssh_key_ids: [...keys],
      tags: { ...body.tags },
      is_protected: body.is_protected ?? false,
      max_duration_s: body.max_duration_s ?? null,
      release_at: null,
      activated_at: null,
      release_requested_at: null,
      released_at: null,
      requested_by: principal.id,
      correlation_id: ctx.correlation_id,
      version: 1,
      created_at: world.ago(),
      host_key: `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${btoa(digestOf(id, 32)).slice(0, 43)}`,
      private_ip: isSlice ? (slots[0]?.private_ip ?? null) : null,
      run_id: null,
    };
    world.allocations.set(id, row);
    claimSlots(world, row, slots, 'reserved');
    moveAllocation(world, row, 'requested');
    provision(world, row);
    for (const key of keys) Object.assign(world.sshKeys.get(key) ?? {}, { last_used_at: world.ago() });
    ctx.note({ sku_name: sku.name, gpu_count: body.gpu_count, region_name: region.name });
    return allocationView(ctx, { withProgress: false })(row);
  },
  allocationList: async (ctx: MockCtx, { query }: Req<'allocationList'>) => {
    const rows = [...ctx.world.allocations.values()]
      .filter((row) => row.project_id === projectOf(ctx))
      .filter((row) => query.state === undefined || row.state === query.state)
      .filter((row) => query.name === undefined || row.name === query.name);
    return pageOf(ctx, query, newestFirst(rows), idOf, allocationView(ctx));
  },
  allocationGet: async (ctx: MockCtx, { params }: Req<'allocationGet'>) =>
    allocationView(ctx, { isDetailed: true })(getAllocation(ctx, params.allocation_id)),
  allocationTimeline: async (ctx: MockCtx, { params, query }: Req<'allocationTimeline'>) => {
    const row = getAllocation(ctx, params.allocation_id);
    const entries = [...ctx.world.runs.values()]
      .filter((run) => run.subject_id === row.id)
      .flatMap((run) => run.steps.map((step) => ({ run, step })))
      .sort((a, b) => (a.step.started_at < b.step.started_at ? -1 : 1));
    return pageOf(
      ctx,
      query,
      entries,
      ({ run, step }) => `${run.id} ${step.sequence}`,
      ({ run, step }) => ({
        ...step,
        workflow: run.workflow,
        ...workflowWords(run.workflow),
        label: stepLabel(run.workflow, step.step),
      }),
    );
  },
  allocationUpdate: async (ctx: MockCtx, { params, body, if_match }: Req<'allocationUpdate'>) => {
    const { world } = ctx;
    const row = getAllocation(ctx, params.allocation_id);
    refuse(updateRefusal(row.state));
    const { max_duration_s } = body;
    if (typeof max_duration_s === 'number' && row.state === 'active' && row.activated_at !== null)
      refuse(maxDurationRefusal(Math.floor((world.now() - Date.parse(row.activated_at)) / 1000), max_duration_s));
    assertVersion(row, if_match);
    if (body.name !== undefined) assertNameFree(ctx, body.name, row.id);
    Object.assign(row, body);
    if (max_duration_s !== undefined && row.activated_at !== null) {
      row.release_at =
        max_duration_s === null ? null : new Date(Date.parse(row.activated_at) + max_duration_s * 1000).toISOString();
      planRelease(world, row);
    }
    row.version += 1;
    ctx.note({ fields: Object.keys(body) });
    ctx.emit('allocation.updated', { subject: row.id, data: { allocation_id: row.id, name: row.name } });
    return allocationView(ctx, { withProgress: false })(row);
  },
  allocationRelease: async (ctx: MockCtx, { params }: Req<'allocationRelease'>) => {
    const row = getAllocation(ctx, params.allocation_id);
    if (!refuse(releaseRefusal(row))) startRelease(ctx.world, row, REASONS.release_requested, ctx.correlation_id);
    ctx.note({ workflow_run_id: row.run_id });
    return allocationView(ctx, { withProgress: false })(row);
  },
};
