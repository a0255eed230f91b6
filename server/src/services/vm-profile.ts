/**
 * VM profiles. Each is compared with the hosts of its SKU's GPU model that a discovery has measured; the scheduler places no VM on
 * a host that is too small for it. `createVmProfile`, `updateVmProfile` and `retireVmProfile` are the changes, in a transaction of
 * the caller.
 */
import type { PublicApi, RequestOf, Static, VmProfileSpec as VmProfileSpecSchema } from '@gpuaas/contract';
import { hostShortfall } from '@gpuaas/scheduler';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader, Tx } from '../db/client.ts';
import { lockSku } from '../db/sku.ts';
import * as db from '../db/sku-vm-profile.ts';
import { profileUses, VM_PROFILE_DEFAULTS, vmProfileProblem } from '../domain/catalog.ts';
import { AppError, invalidField, notFound } from '../errors.ts';
import { onlyText, resourceChanged } from '../pipeline/caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';
import { assertCurrent, assertUnused, nameTaken } from './catalog-rules.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;
export type VmProfileSpec = Static<typeof VmProfileSpecSchema>;
type VmProfileChange = Partial<
  Pick<VmProfileSpec, 'vcpu_count' | 'memory_mib' | 'hugepages' | 'numa_policy' | 'is_default'>
>;

const HOSTS_SHOWN = 20;

/** All that an operator sets of it, as a site file states it. */
export const vmProfileSpecOf = ({ retired_at: _, version: __, ...spec }: db.VmProfileRow): Required<VmProfileSpec> =>
  spec;

const views = async (reader: Reader, rows: readonly db.VmProfileRow[]) => {
  const hosts = await db.listMeasuredHosts(reader, [...new Set(rows.map(({ sku_name }) => sku_name))]);
  return rows.map((row) => {
    const checked = hosts.filter(({ sku_name }) => sku_name === row.sku_name);
    const too_small = checked.flatMap((host) => {
      const reason = hostShortfall(host, row.gpu_count, row);
      return reason === null ? [] : [{ node_id: host.node_id, node_name: host.node_name, reason }];
    });
    return {
      ...row,
      hosts_checked: checked.length,
      hosts_too_small: too_small.length,
      too_small: too_small.slice(0, HOSTS_SHOWN),
    };
  });
};

const found = (row: db.VmProfileRow | undefined): db.VmProfileRow => {
  if (row === undefined) throw notFound('VM profile');
  return row;
};

const view = async (reader: Reader, row: db.VmProfileRow) => {
  const [one] = await views(reader, [row]);
  if (one === undefined) throw notFound('VM profile');
  return one;
};

export const adminList = async (ctx: ReadCtx, { query }: Req<'adminVmProfileList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const page = { after: onlyText(decodeCursor(ctx, query.cursor)?.[0]), limit: limit + 1 };
  const filter = { sku_name: query.sku_name ?? null, include_retired: query.include_retired ?? false };
  const rows = await ctx.read(async (reader) => views(reader, await db.listVmProfiles(reader, page, filter)));
  return pageOf(
    ctx,
    limit,
    rows,
    (row) => [row.name],
    (row) => row,
  );
};

export const adminGet = (ctx: ReadCtx, { params }: Req<'adminVmProfileGet'>) =>
  ctx.read(async (reader) => view(reader, found(await db.findVmProfile(reader, params.vm_profile_name))));

export const createVmProfile = async (tx: Tx, spec: VmProfileSpec): Promise<db.VmProfileRow> => {
  const sku = await lockSku(tx, spec.sku_name, 'no key update');
  if (sku === undefined || sku.retired_at !== null)
    throw new AppError('invalid_request', `There is no SKU named "${spec.sku_name}".`, {
      errors: [{ pointer: '/body/sku_name', code: 'unknown', message: 'names no SKU' }],
    });
  const problem = vmProfileProblem(sku, spec.gpu_count);
  if (problem !== null) throw invalidField(problem.field, problem.problem);
  const is_default = spec.is_default ?? VM_PROFILE_DEFAULTS.is_default;
  if (is_default) await db.clearDefault(tx, spec);
  const memory = {
    hugepages: spec.hugepages ?? VM_PROFILE_DEFAULTS.hugepages,
    numa_policy: spec.numa_policy ?? VM_PROFILE_DEFAULTS.numa_policy,
  };
  if (!(await db.insertVmProfile(tx, { ...spec, ...memory, is_default }))) throw nameTaken('VM profile', spec.name);
  return found(await db.findVmProfile(tx, spec.name));
};

/** Without a version it changes whatever is there. */
export const updateVmProfile = async (tx: Tx, name: string, change: VmProfileChange, ifMatch?: number) => {
  // The SKU's row orders the changes of its default.
  await lockSku(tx, found(await db.findVmProfile(tx, name)).sku_name, 'no key update');
  const before = found(await db.findVmProfile(tx, name));
  assertCurrent('VM profile', before, ifMatch);
  const is_default = change.is_default ?? before.is_default;
  if (is_default) await db.clearDefault(tx, before);
  const after = await db.updateVmProfile(tx, before.version, {
    name,
    vcpu_count: change.vcpu_count ?? before.vcpu_count,
    memory_mib: change.memory_mib ?? before.memory_mib,
    hugepages: change.hugepages ?? before.hugepages,
    numa_policy: change.numa_policy ?? before.numa_policy,
    is_default,
  });
  if (after === undefined) throw resourceChanged(before.version + 1);
  return { before, after };
};

/** Refused where the SKU needs it as the default of a GPU count. */
const assertUnneeded = async (tx: Tx, name: string): Promise<void> => {
  const sku = await lockSku(tx, found(await db.findVmProfile(tx, name)).sku_name, 'no key update');
  const profile = found(await db.findVmProfile(tx, name));
  if (profile.retired_at === null) assertUnused('VM profile', name, profileUses(profile, sku, []));
};

export const retireVmProfile = async (tx: Tx, name: string): Promise<db.VmProfileRow> => {
  assertCurrent('VM profile', found(await db.findVmProfile(tx, name)));
  await db.retireVmProfile(tx, name);
  return found(await db.findVmProfile(tx, name));
};

export const create = async (ctx: WriteCtx, { body }: Req<'adminVmProfileCreate'>) => {
  const row = await createVmProfile(ctx.tx, body);
  ctx.target('vm_profile', row.name);
  ctx.note({ ...vmProfileSpecOf(row), was_retired: row.version > 1 });
  return view(ctx.tx, row);
};

export const update = async (ctx: WriteCtx, { params, body, if_match }: Req<'adminVmProfileUpdate'>) => {
  if (body.is_default === false) await assertUnneeded(ctx.tx, params.vm_profile_name);
  const { before, after } = await updateVmProfile(ctx.tx, params.vm_profile_name, body, if_match);
  ctx.note({
    vcpu_count_before: before.vcpu_count,
    vcpu_count_after: after.vcpu_count,
    memory_mib_before: before.memory_mib,
    memory_mib_after: after.memory_mib,
    hugepages_before: before.hugepages,
    hugepages_after: after.hugepages,
    numa_policy_before: before.numa_policy,
    numa_policy_after: after.numa_policy,
    is_default_before: before.is_default,
    is_default_after: after.is_default,
  });
  return view(ctx.tx, after);
};

export const retire = async (ctx: WriteCtx, { params, body }: Req<'adminVmProfileRetire'>) => {
  await assertUnneeded(ctx.tx, params.vm_profile_name);
  const row = await retireVmProfile(ctx.tx, params.vm_profile_name);
  ctx.note({ reason: body.reason });
  return view(ctx.tx, row);
};
