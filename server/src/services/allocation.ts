/** Launching and reading allocations. Release and cleanup are in allocation-release.ts. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { Ctx, ReadCtx, WriteCtx } from '../context.ts';
import * as db from '../db/allocation.ts';
import { isUniqueViolation } from '../db/errors.ts';
import { findSshFacts, type SshFacts } from '../db/guest.ts';
import { findLaunchFacts } from '../db/statements/launch.ts';
import { putUserData } from '../db/user-data.ts';
import { maxDurationRefusal, updateRefusal } from '../domain/allocation-actions.ts';
import { placementRefusal } from '../domain/launch.ts';
import { progressOf } from '../domain/progress.ts';
import { SEALED_TO } from '../domain/sealed.ts';
import { FIELD_MESSAGES, REFUSALS } from '../domain/sentences.ts';
import { userDataProblem } from '../domain/user-data.ts';
import { stepLabel, workflowWords } from '../domain/workflow-steps.ts';
import { AppError, invalidField, notFound } from '../errors.ts';
import { refuse } from '../pipeline/actions.ts';
import { callerHolds, onlyText, organizationOf, principalOf, projectOf, resourceChanged } from '../pipeline/caller.ts';
import { decodeCursor, malformedCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';
import { chooseNode, commitClaims, lockFirst } from '../placement/commit.ts';
import { decideWide, refusalOf } from '../placement/refusal.ts';
import { checkLaunch, keyColumnOf, type Launch } from '../placement/request.ts';
import { allocationView } from '../views/allocation.ts';
import { type ProgressRows, progressOfOne, progressOfPage } from '../views/allocation-progress.ts';
import { newRun, runChanged } from '../workflows/engine/run.ts';
import { provisionBaremetal } from '../workflows/provision-baremetal.ts';
import { provisionSlice } from '../workflows/provision-slice.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

/** A request that no worker took by then is shown as overdue. */
const REQUESTED_DEADLINE_S = 60;
const TRIES_MAX = 4;
const HOURS = { hour: 1, day: 24, month: 730 };

/** Without progress it shows no work: a caller that just changed it reads it again. */
export const viewFor =
  (ctx: Ctx, progress: ProgressRows = [], ssh?: SshFacts) =>
  (row: db.ShownAllocation) => {
    const nowMs = ctx.deps.clock.now().getTime();
    const facts = progress.find(({ allocation_id }) => allocation_id === row.id);
    return allocationView(
      row,
      nowMs,
      (permission) => callerHolds(ctx, permission, row.organization_id, row.project_id),
      facts === undefined ? null : progressOf(facts, nowMs),
      ssh ?? null,
    );
  };

type LaunchBody = Req<'allocationEstimate'>['body'] &
  Pick<Partial<Req<'allocationCreate'>['body']>, 'vm_profile' | 'storage' | 'network'>;

const launchOf = (ctx: Ctx, body: LaunchBody): Launch => ({
  sku_name: body.sku_name,
  region_name: body.region_name,
  gpu_count: body.gpu_count,
  image_name: body.image_name ?? null,
  vm_profile: body.vm_profile ?? null,
  storage: body.storage ?? null,
  network: body.network ?? null,
  organization_id: organizationOf(ctx),
  project_id: projectOf(ctx),
});

const pinned = (image: Readonly<{ name: string; digest: string }> | null) => ({
  image_name: image?.name ?? null,
  image_digest: image?.digest ?? null,
});

export const estimate = (ctx: ReadCtx, { body }: Req<'allocationEstimate'>) =>
  ctx.read(async (reader) => {
    const launch = launchOf(ctx, body);
    const facts = await findLaunchFacts(reader, { ...launch, ssh_key_ids: [] });
    const checked = checkLaunch(launch, facts);
    const { sku, request } = checked;
    const { decision, fit, expected } = await decideWide(reader, request, sku.gpu_model);
    const price = (hours: number) => ({
      amount_minor: sku.gpu_hourly_price_minor * request.gpu_count * hours,
      currency: sku.currency,
    });
    const refusal = decision.kind === 'placed' ? null : placementRefusal(decision, checked, expected);
    return {
      fits_now: refusal === null,
      fits_on_nodes: Math.min(fit.nodes, 100),
      largest_set: fit.largest_count,
      price_per_hour: price(HOURS.hour),
      price_per_day: price(HOURS.day),
      price_per_month: price(HOURS.month),
      quota_gpus_after: facts.quota_gpus_remaining === null ? null : facts.quota_gpus_remaining - request.gpu_count,
      code: refusal?.code ?? null,
      reasons: refusal?.reasons ?? [],
      alternatives: refusal?.alternatives ?? [],
      ...checked.choices,
      fabric: checked.fabric,
      expected: refusal?.expected ?? null,
    };
  });

export const assertUserData = (text: string | null | undefined): void => {
  const problem = text == null ? null : userDataProblem(text);
  if (problem !== null) throw invalidField('user_data', problem);
};

export const create = async (ctx: WriteCtx, { body }: Req<'allocationCreate'>) => {
  const { tx } = ctx;
  assertUserData(body.user_data);
  const launch = launchOf(ctx, body);
  const sshKeyIds = body.ssh_key_ids ?? [];
  // The shape is not known before the catalog is read, so the first query is for a slice: both are sent together.
  const query = { region_name: launch.region_name, sku_name: launch.sku_name, organization_id: launch.organization_id };
  const sliceKey = keyColumnOf(launch.gpu_count, false);
  const { facts, node: first } = await lockFirst(tx, { ...launch, ssh_key_ids: sshKeyIds }, sliceKey);
  const checked = checkLaunch(launch, facts);
  if (facts.ssh_keys_found !== sshKeyIds.length) throw notFound('SSH key');
  const { request, sku } = checked;
  const isSlice = request.shape === 'gpu_slice';
  const isOpen = sku.enabled && checked.region.enabled;
  const key = keyColumnOf(launch.gpu_count, !isSlice);
  let choice = isOpen ? await chooseNode(tx, request, { ...query, key }, isSlice ? first : undefined) : null;
  for (let looks = 1; choice === null; looks++) {
    const { decision, expected } = await decideWide(tx, request, sku.gpu_model);
    if (decision.kind === 'unplaceable') throw refusalOf(decision, checked, expected);
    // It fits, but the awaited node was changed or taken; another attempt may find the next best.
    if (looks === TRIES_MAX)
      throw new AppError('unavailable', 'Other launches hold every node that fits. Retry.', {
        retry_after_s: 1,
      });
    choice = await chooseNode(tx, request, { ...query, key }, undefined);
  }
  const id = mintId('alc');
  const allocation = {
    id,
    organization_id: launch.organization_id,
    project_id: launch.project_id,
    name: body.name,
    capacity_shape: request.shape,
    sku_name: sku.name,
    region_name: launch.region_name,
    ...pinned(isSlice ? facts.image : null),
    gpu_count: request.gpu_count,
    storage: checked.storage,
    network: checked.network,
    requested_by: principalOf(ctx).id,
    ssh_key_ids: sshKeyIds,
    tags: body.tags ?? {},
    is_protected: body.is_protected ?? false,
    max_duration_s: body.max_duration_s ?? null,
    correlation_id: ctx.correlation_id,
    created_at: facts.now,
    deadline_s: REQUESTED_DEADLINE_S,
  };
  const run = newRun({
    workflow: isSlice ? provisionSlice : provisionBaremetal,
    subject_id: id,
    organization_id: launch.organization_id,
    project_id: launch.project_id,
    correlation_id: ctx.correlation_id,
  });
  const { user_data } = body;
  if (user_data !== undefined && !isSlice) throw invalidField('user_data', FIELD_MESSAGES.user_data_of_slice);
  commitClaims(tx, choice, { launch: checked, profile: facts.profile, allocation, run });
  if (user_data !== undefined) {
    const { organization_id, project_id } = launch;
    const sealed_user_data = ctx.deps.secrets.seal(user_data, SEALED_TO.user_data(id));
    tx.defer(putUserData(tx, { allocation_id: id, organization_id, project_id, sealed_user_data }));
  }
  ctx.emit('workflow_run.changed', { subject: run.id, data: runChanged({ ...run, state: 'pending' }).data });
  ctx.note({ sku_name: sku.name, gpu_count: request.gpu_count, region_name: launch.region_name });
  ctx.emit('allocation.changed', {
    subject: id,
    data: { allocation_id: id, name: body.name, state: 'requested', state_reason: null },
  });
  // Everything in the row is known here: reading it again would cost another round trip.
  return viewFor(ctx)({
    ...allocation,
    state_since: facts.now,
    state_deadline_at: new Date(Date.parse(facts.now) + REQUESTED_DEADLINE_S * 1000).toISOString(),
    ssh_key_ids: [...sshKeyIds],
    tags: { ...allocation.tags },
    node_id: choice.node.id,
    state: 'requested',
    state_reason: null,
    release_at: null,
    activated_at: null,
    release_requested_at: null,
    released_at: null,
    failure_reason: null,
    power_state: null,
    power_since: null,
    power_reason: null,
    power_run_id: null,
    power_grace_s: null,
    install_number: 0,
    version: 1,
    vm_profile_name: facts.profile?.name ?? null,
    vcpu_count: facts.profile?.vcpu_count ?? null,
    memory_mib: facts.profile?.memory_mib ?? null,
    hugepages: facts.profile?.hugepages ?? null,
    numa_policy: facts.profile?.numa_policy ?? null,
    gpu_hourly_price_minor: sku.gpu_hourly_price_minor,
    currency: sku.currency,
    fabric_isolation: checked.region.fabric_isolation,
    closed_cost_minor: 0,
    open_since: null,
    notices: [],
  });
};

export const list = async (ctx: ReadCtx, { query }: Req<'allocationList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const before = onlyText(decodeCursor(ctx, query.cursor)?.[0]);
  const filter = {
    project_id: projectOf(ctx),
    organization_id: null,
    node_id: null,
    state: query.state ?? null,
    name: query.name ?? null,
    before,
    limit: limit + 1,
  };
  return ctx.read(async (reader) => {
    const rows = await db.listAllocations(reader, filter);
    return pageOf(ctx, limit, rows, (row) => [row.id], viewFor(ctx, await progressOfPage(reader, rows)));
  });
};

export const get = (ctx: ReadCtx, { params }: Req<'allocationGet'>) =>
  ctx.read(async (reader) => {
    const [row, progress, ssh] = await Promise.all([
      db.findProjectAllocation(reader, projectOf(ctx), params.allocation_id),
      progressOfOne(reader, params.allocation_id),
      findSshFacts(reader, params.allocation_id),
    ]);
    if (row === undefined) throw notFound('allocation');
    return viewFor(ctx, progress, ssh)(row);
  });

export const timeline = async (ctx: ReadCtx, { params, query }: Req<'allocationTimeline'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const cursor = decodeCursor(ctx, query.cursor, 2);
  const after = cursor === undefined ? null : ([String(cursor[0]), Number(cursor[1])] as const);
  if (after !== null && !(after[1] >= 0 && after[1] < 2 ** 31)) throw malformedCursor();
  const rows = await ctx.read(async (reader) => {
    if ((await db.findProjectAllocation(reader, projectOf(ctx), params.allocation_id)) === undefined)
      throw notFound('allocation');
    return db.listTimeline(reader, params.allocation_id, { after, limit: limit + 1 });
  });
  return pageOf(
    ctx,
    limit,
    rows,
    (row) => [row.run_id, row.sequence],
    ({ run_id: _, ...row }) => ({
      ...row,
      ...workflowWords(row.workflow),
      label: stepLabel(row.workflow, row.step),
      duration_ms: Date.parse(row.finished_at) - Date.parse(row.started_at),
    }),
  );
};

const assertNotOver = (ctx: Ctx, row: db.AllocationRow, maxDurationS: number | null | undefined): void => {
  if (typeof maxDurationS !== 'number' || row.state !== 'active' || row.activated_at === null) return;
  const activeS = Math.floor((ctx.deps.clock.now().getTime() - Date.parse(row.activated_at)) / 1000);
  refuse(maxDurationRefusal(activeS, maxDurationS));
};

export const update = async (ctx: WriteCtx, req: Req<'allocationUpdate'>) => {
  const { allocation_id } = req.params;
  const before = await db.findProjectAllocation(ctx.tx, projectOf(ctx), allocation_id);
  if (before === undefined) throw notFound('allocation');
  refuse(updateRefusal(before.state));
  const { name, tags, is_protected, max_duration_s } = req.body;
  assertNotOver(ctx, before, max_duration_s);
  const change = { name: name ?? null, tags: tags ?? null, is_protected: is_protected ?? null, max_duration_s };
  try {
    if (!(await db.updateAllocation(ctx.tx, projectOf(ctx), allocation_id, req.if_match, change)))
      throw resourceChanged((await db.findProjectAllocation(ctx.tx, projectOf(ctx), allocation_id))?.version ?? 0);
  } catch (err) {
    if (isUniqueViolation(err, 'allocations_name'))
      throw new AppError('already_exists', REFUSALS.allocation_name_taken(name ?? before.name));
    throw err;
  }
  ctx.note({ fields: Object.keys(req.body) });
  const row = await db.findProjectAllocation(ctx.tx, projectOf(ctx), allocation_id);
  if (row === undefined) throw notFound('allocation');
  ctx.emit('allocation.updated', { subject: row.id, data: { allocation_id: row.id, name: row.name } });
  return viewFor(ctx)(row);
};
