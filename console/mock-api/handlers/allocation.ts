import { assertVersion, type MockCtx, must, organizationOf, projectOf, type Req } from '../core/context.ts';
import { conflict, invalidField, notFound, Refusal } from '../core/errors.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { Allocation, OsImage, Region, Sku } from '../core/rows.ts';
import { beginRelease, claimSlots, moveAllocation, planRelease, provision } from '../life/allocation.ts';
import { stepLabel } from '../life/paths.ts';
import { regionLargest, spotsFor } from '../life/placement.ts';
import { refusalOf } from '../life/refusal.ts';
import { quotaLeft } from '../life/usage.ts';
import { allocationView } from '../views/allocation.ts';

const LIVE: readonly Allocation['state'][] = ['requested', 'provisioning', 'active', 'releasing', 'release_failed'];
const HOURS = { hour: 1, day: 24, month: 730 };

export const getAllocation = (ctx: MockCtx, id: string): Allocation => {
  const row = ctx.world.allocations.get(id);
  return must(row?.project_id === projectOf(ctx) ? row : undefined, 'allocation');
};

type Launch = Req<'allocationEstimate'>['body'];
type Checked = Readonly<{ sku: Sku; region: Region; image: OsImage | null }>;

const checkLaunch = ({ world }: MockCtx, body: Launch): Checked => {
  const sku = world.skus.find((one) => one.name === body.sku_name);
  const region = world.regions.find((one) => one.name === body.region_name);
  if (sku === undefined) throw invalidField('sku_name', 'names no SKU', 'unknown');
  if (region === undefined) throw invalidField('region_name', 'names no region', 'unknown');
  const images = world.images.filter((one) => one.enabled && one.sku_names.includes(sku.name));
  const named = images.find((one) => one.name.toLowerCase() === body.image_name?.toLowerCase());
  if (body.image_name !== undefined && named === undefined)
    throw invalidField('image_name', `names no image that runs on ${sku.name}`, 'unknown');
  const isSlice = sku.capacity_shape === 'gpu_slice';
  return { sku, region, image: named ?? (isSlice ? (images[0] ?? null) : null) };
};

const judge = (ctx: MockCtx, body: Launch, { sku, region }: Checked) => {
  const quota_left = quotaLeft(ctx.world, organizationOf(ctx), projectOf(ctx));
  return { quota_left, refused: refusalOf(ctx.world, { sku, region, gpu_count: body.gpu_count, quota_left }) };
};

const assertNameFree = (ctx: MockCtx, name: string, except?: string): void => {
  const taken = [...ctx.world.allocations.values()].some(
    (one) => one.project_id === projectOf(ctx) && one.name === name && one.id !== except && LIVE.includes(one.state),
  );
  if (taken) throw new Refusal('already_exists', `A live allocation named "${name}" exists in this project.`);
};

const profileOf = (sku: Sku, body: Req<'allocationCreate'>['body']) => {
  const fitting = sku.vm_profiles.filter((one) => one.gpu_count === body.gpu_count);
  if (body.vm_profile === undefined) return fitting.find((one) => one.is_default) ?? null;
  const named = fitting.find((one) => one.name === body.vm_profile);
  if (named === undefined) throw invalidField('vm_profile', 'names no profile of this SKU and GPU count', 'unknown');
  return named;
};

export const allocation = {
  allocationEstimate: async (ctx: MockCtx, { body }: Req<'allocationEstimate'>) => {
    const checked = checkLaunch(ctx, body);
    const { sku, region } = checked;
    const { quota_left, refused } = judge(ctx, body, checked);
    const price = (hours: number) => ({
      amount_minor: sku.gpu_hourly_price.amount_minor * body.gpu_count * hours,
      currency: sku.gpu_hourly_price.currency,
    });
    const isOpen = sku.enabled && region.enabled;
    return {
      fits_now: refused === null,
      fits_on_nodes: isOpen ? Math.min(100, spotsFor(ctx.world, sku, region.name, body.gpu_count).length) : 0,
      largest_set: isOpen ? regionLargest(ctx.world, sku, region.name) : 0,
      price_per_hour: price(HOURS.hour),
      price_per_day: price(HOURS.day),
      price_per_month: price(HOURS.month),
      quota_gpus_after: quota_left === null ? null : quota_left - body.gpu_count,
      code: refused?.code ?? null,
      reasons: refused?.reasons ?? [],
      alternatives: refused?.alternatives ?? [],
    };
  },
  allocationCreate: async (ctx: MockCtx, { body }: Req<'allocationCreate'>) => {
    const { world, principal } = ctx;
    const checked = checkLaunch(ctx, body);
    const { sku, region, image } = checked;
    const isSlice = sku.capacity_shape === 'gpu_slice';
    const profile = isSlice ? profileOf(sku, body) : null;
    if (body.user_data !== undefined && !isSlice) throw invalidField('user_data', 'is for slices only');
    const keys = body.ssh_key_ids ?? [];
    if (keys.some((id) => world.sshKeys.get(id)?.user_id !== principal.id)) throw notFound('SSH key');
    assertNameFree(ctx, body.name);
    const { refused } = judge(ctx, body, checked);
    if (refused !== null)
      throw new Refusal(refused.code, refused.sentence, {
        reasons: refused.reasons,
        alternatives: refused.alternatives,
        retry_after_s: 30,
      });
    const spot = must(spotsFor(world, sku, region.name, body.gpu_count)[0], 'node');
    const id = world.mint('allocation');
    const row: Allocation = {
      id,
      project_id: projectOf(ctx),
      organization_id: organizationOf(ctx),
      node_id: spot.node.id,
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
        gpu_hourly_price: { ...sku.gpu_hourly_price },
      },
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
      private_ip: isSlice ? (spot.slots[0]?.private_ip ?? null) : null,
      run_id: null,
    };
    world.allocations.set(id, row);
    claimSlots(world, row, spot.slots, 'reserved');
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
      ({ run, step }) => ({ ...step, workflow: run.workflow, label: stepLabel(run.path, step.step) }),
    );
  },
  allocationUpdate: async (ctx: MockCtx, { params, body, if_match }: Req<'allocationUpdate'>) => {
    const { world } = ctx;
    const row = getAllocation(ctx, params.allocation_id);
    if (row.state === 'released' || row.state === 'failed') throw conflict(`The allocation is ${row.state}.`);
    assertVersion(row, if_match);
    if (body.name !== undefined) assertNameFree(ctx, body.name, row.id);
    const { max_duration_s } = body;
    if (typeof max_duration_s === 'number' && row.activated_at !== null) {
      const activeS = Math.floor((world.now() - Date.parse(row.activated_at)) / 1000);
      if (activeS >= max_duration_s)
        throw conflict(
          `The allocation has been active for ${activeS} s, so a maximum duration of ${max_duration_s} s is over already. Release it instead, or give a longer one.`,
        );
    }
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
    if (row.is_protected && row.state !== 'releasing')
      throw conflict('The allocation is protected; remove the protection first.');
    if (row.state === 'released' || row.state === 'failed') throw conflict(`The allocation is ${row.state}.`);
    beginRelease(ctx.world, row, 'Its release was asked for.');
    return allocationView(ctx, { withProgress: false })(row);
  },
};
