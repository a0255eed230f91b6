/**
 * Rules that queries share with the scheduler and the domain, each as one SQL fragment. `predicates*.db.test.ts` and
 * `sku-price.prop.db.test.ts` compare each with its function in TypeScript, on generated rows; `predicates.test.ts` fails
 * for a fragment that they do not use. An argument is the alias of a table.
 */
import {
  ENDED_ALLOCATION_STATES,
  HELD_ALLOCATION_STATES,
  LIVE_WORKFLOW_STATES,
  MOVING_ALLOCATION_STATES,
  OPEN_DISK_APPROVAL_STATES,
  OPEN_TASK_STATES,
  OVER_NODE_STATES,
} from '@gpuaas/contract';
import type { TaskKind } from '@gpuaas/contract/task-kinds';
import { SLOTS_MAX } from '@gpuaas/scheduler';
import { OCCUPYING_ALLOCATION_STATES, STARTING_ALLOCATION_STATES } from '../domain/allocation.ts';
import { CLOCK_STEP_MAX_MS } from '../domain/clock-guard.ts';
import { OFFLINE_AFTER_S } from '../domain/heartbeat.ts';
import { sourcesIn } from '../domain/moves.ts';
import { occupancyMoves } from '../domain/node-state.ts';
import { COMPARED_WITHIN_S } from '../domain/restore.ts';
import { LIVE_SESSION_STATES } from '../domain/session.ts';
import { approvalMoves, slotMoves } from '../domain/slot-state.ts';
import { HANDED_OUT_TASK_STATES, HELD_TASK_KINDS, UNDONE_TASK_STATES, UNSTARTED_TASK_STATES } from '../domain/task.ts';

const list = (words: readonly string[]): string => `(${words.map((word) => `'${word}'`).join(', ')})`;

/** `state in …` of the tables that have such states. Literals: the planner matches them with partial indexes. */
export const TASK_OPEN = `in ${list(OPEN_TASK_STATES)}`;
export const TASK_UNSTARTED = `in ${list(UNSTARTED_TASK_STATES)}`;
export const TASK_HANDED_OUT = `in ${list(HANDED_OUT_TASK_STATES)}`;
export const TASK_UNDONE = `in ${list(UNDONE_TASK_STATES)}`;
export const RUN_LIVE = `in ${list(LIVE_WORKFLOW_STATES)}`;
export const SESSION_LIVE = `in ${list(LIVE_SESSION_STATES)}`;
export const ALLOCATION_HELD = `in ${list(HELD_ALLOCATION_STATES)}`;
export const ALLOCATION_MOVING = `in ${list(MOVING_ALLOCATION_STATES)}`;
export const ALLOCATION_ENDED = `in ${list(ENDED_ALLOCATION_STATES)}`;
export const ALLOCATION_STARTING = `in ${list(STARTING_ALLOCATION_STATES)}`;
/** What a cleanup of its allocation starts from: of a claimed slot, and of a node that is claimed as a whole. */
export const APPROVAL_TO_DISABLE = `in ${list(sourcesIn(approvalMoves, 'disabled'))}`;
export const SLOT_TO_CLEAN = `in ${list(sourcesIn(slotMoves, 'cleaning'))}`;
export const NODE_TO_CLEAN = `in ${list(sourcesIn(occupancyMoves, 'cleaning').filter((from) => from !== 'free'))}`;
/** What may be set apart, or is. */
export const SLOT_TO_QUARANTINE = `in ${list([...sourcesIn(slotMoves, 'quarantined'), 'quarantined'])}`;
export const ALLOCATION_OCCUPYING = `in ${list(OCCUPYING_ALLOCATION_STATES)}`;
export const DISK_OPEN = `in ${list(OPEN_DISK_APPROVAL_STATES)}`;
export const NODE_OVER = `in ${list(OVER_NODE_STATES)}`;

/** `kind in …` of host tasks: a kind with another name does not compile. */
export const taskKindIn = (...kinds: readonly [TaskKind, ...TaskKind[]]): string => `in ${list(kinds)}`;

/**
 * The clock of the database may end, delete or mark something because a time has passed. It was checked recently by its
 * own measure, so a step forward counts before a worker has noticed it. Before the first check ever there is no row.
 */
export const CLOCK_TRUSTED = `(select coalesce(bool_and(g.hold_since is null
  and clock_timestamp() < g.seen_at + interval '${CLOCK_STEP_MAX_MS} ms'), true) from clock_guard g)`;

/** The time of an open task is over: it ends without a result. */
export const taskIsLate = (t: string): string => `(${t}.expires_at <= clock_timestamp() and ${CLOCK_TRUSTED})`;

/**
 * This database and no other: a dump that was restored, a copy, a replica that was promoted and a server that was started
 * again have another name. `s` is the row of `audit_sealer`.
 */
export const databaseName = (s: string): string =>
  `(extract(epoch from pg_postmaster_start_time()) || ' ' || (select d.oid from pg_database d where d.datname = current_database()) || ' ' || ${s}.tableoid)`;

/** A worker has compared this database with the signed heads of its audit log, and not long ago. */
export const HEADS_COMPARED = `(select coalesce(bool_and(s.compared_in = ${databaseName('s')}
  and s.compared_at > clock_timestamp() - interval '${COMPARED_WITHIN_S} s'), false) from audit_sealer s)`;

const destroysOrInstallsKeys = (t: string): string => `${t}.kind in ${list(HELD_TASK_KINDS)}`;

/** It destroys data or installs keys, for a node that an operator has not released since the database was restored. */
export const taskIsHeldByRestore = (t: string): string =>
  `(${destroysOrInstallsKeys(t)} and exists (select from nodes h where h.id = ${t}.node_id and h.restore_hold_id is not null))`;

/** The same, also while nobody knows whether the database was restored. */
export const taskIsHeld = (t: string): string =>
  `(${destroysOrInstallsKeys(t)} and (not ${HEADS_COMPARED} or ${taskIsHeldByRestore(t)}))`;

/** The parts of a slot's bundle, as the scheduler's fields name them. */
export const SLOT_PARTS = {
  has_gpu: (s: string) => `${s}.gpu_pci_address is not null`,
  has_nvme: (s: string) => `${s}.nvme_serial is not null and ${s}.nvme_device is not null`,
  has_mac: (s: string) => `${s}.mac_address is not null`,
  has_private_ip: (s: string) => `${s}.private_ip is not null`,
  has_fabric_vf: (s: string) => `${s}.fabric_vf_pci_address is not null`,
} as const;

/** The scheduler's `isComplete`: a slice could run on it. Never null. */
export const slotIsComplete = (s: string): string =>
  `(${Object.values(SLOT_PARTS)
    .map((has) => has(s))
    .join(' and ')} and ${s}.fabric_claim_mode is not distinct from 'per_slot_vf' and ${s}.parent_slot_id is null
    and ${s}.slot_index < ${SLOTS_MAX})`;

/** The scheduler's `isUsable`: approved, available and healthy. */
export const slotIsUsable = (s: string): string =>
  `(${s}.approval = 'approved' and ${s}.status = 'available' and ${s}.health = 'ok')`;

/** The scheduler's `slotReason` for a slice: why the slot cannot serve one, null when it can. */
export const slotUnavailableReason = (s: string): string =>
  `case when ${s}.status in ('reserved', 'in_use') then 'claimed' when ${s}.status <> 'available' then ${s}.status
    when ${s}.approval = 'disabled' then 'unapproved' when ${s}.approval <> 'approved' then 'hardware_changed' when ${s}.health <> 'ok' then 'unhealthy'
    when not ${slotIsComplete(s)} then 'incomplete' end`;

/** The release's `isFit`: available again once it is wiped. */
export const slotIsFit = (s: string): string => `(${s}.status <> 'quarantined' and ${slotIsComplete(s)})`;

/** The node's state and GPUs let a launch be placed on it. */
export const takesLaunches = (n: string): string => `(${n}.state = 'active' and ${n}.gpu_model_conflict is null)`;

/** Disks that the newest discovery found on node `n` and that a release of the whole node would not wipe, although no operator excluded them. None on a node for slices. */
const diskIsUnapproved = (n: string): string =>
  `from jsonb_to_recordset(${n}.disks_found) as f (name text, serial text) where ${n}.capacity_mode <> 'slice' and (f.serial is null
    or not (${n}.data_disks @> jsonb_build_array(jsonb_build_object('serial', f.serial))
      or exists (select from node_resource_slots o where o.node_id = ${n}.id and o.nvme_serial = f.serial)
      or exists (select from disk_ownerships o where o.node_id = ${n}.id and o.serial = f.serial and o.state = 'excluded')))`;
export const unapprovedDiskCount = (n: string): string => `(select count(*)::integer ${diskIsUnapproved(n)})`;
export const unapprovedDisks = (n: string): string =>
  `(select coalesce(json_agg(json_build_object('name', f.name, 'serial', f.serial, 'is_wipe_pending',
    exists (select from disk_ownerships o where o.node_id = ${n}.id and o.serial = f.serial and o.state ${DISK_OPEN})) order by f.name), '[]') ${diskIsUnapproved(n)})`;

/** The runtime of the host was checked after its last boot, and passed. */
export const runtimeIsValidated = (n: string): string =>
  `(${n}.is_runtime_passed and ${n}.runtime_checked_at is not null and (${n}.booted_at is null or ${n}.runtime_checked_at > ${n}.booted_at))`;

/**
 * The price of a SKU at a time: the newest that has begun, was not cancelled, and did not end with the SKU; no row without one. `priceAt` of the
 * domain is the same rule.
 */
export const currentPrice = (skuName: string, at = 'statement_timestamp()'): string =>
  `select u.id, u.gpu_hourly_price_minor, u.currency from sku_prices u where u.sku_name = ${skuName} and u.cancelled_at is null
    and u.ended_at is null and u.valid_from <= ${at} order by u.valid_from desc limit 1`;

/** A host of the region is active: it fetches images and can have allocations. */
export const regionHasHost = (region: string): string =>
  `exists (select from nodes h where h.region_name = ${region} and h.state = 'active')`;

/** The version `v` of an image can be fetched in the region. */
export const imageIsAvailable = (v: string, region: string): string =>
  `exists (select from os_image_availability l where l.image_name = ${v}.image_name and l.digest = ${v}.digest
    and l.region_name = ${region} and l.available_since is not null)`;

/** The image `i` can be the default of a launch in the region; `imageDefault` of the domain states why not. */
export const imageIsDefault = (i: string, region: string): string =>
  `(${i}.retired_at is null and ${i}.channel = 'stable' and ${i}.trust = 'verified' and exists (select from os_image_versions d
    where d.image_name = ${i}.name and d.retired_at is null and ${imageIsAvailable('d', region)}))`;

/** A VM of the SKU `k` has a size. Bare metal needs none. */
export const skuHasVmProfile = (k: string): string =>
  `(${k}.capacity_shape = 'baremetal' or exists (select from sku_vm_profiles f where f.sku_name = ${k}.name and f.retired_at is null))`;

/** An image in use runs on the SKU `k`. Bare metal needs none: it keeps the operating system of the node. */
export const skuHasImage = (k: string): string =>
  `(${k}.capacity_shape = 'baremetal' or exists (select from os_image_skus x join os_images m on m.name = x.image_name and m.retired_at is null
    join os_image_versions d on d.image_name = m.name and d.retired_at is null where x.sku_name = ${k}.name))`;

/** A launch on the SKU `k` that names no image gets one in an enabled region. */
export const skuHasDefaultImage = (k: string): string =>
  `(${k}.capacity_shape = 'baremetal' or exists (select from os_image_skus x join os_images m on m.name = x.image_name
    join regions g on g.enabled and g.retired_at is null where x.sku_name = ${k}.name and ${imageIsDefault('m', 'g.name')}))`;

/** The SKU `k` can be launched where its region is enabled; `skuAvailability` of the domain names what is missing. */
export const skuIsOpen = (k: string): string =>
  `(${k}.enabled and ${k}.retired_at is null and exists (${currentPrice(`${k}.name`)}) and ${skuHasVmProfile(k)} and ${skuHasImage(k)})`;

/** The agent polled recently enough for its node to be online. */
export const agentIsSeen = (a: string): string =>
  `${a}.last_seen_at > clock_timestamp() - interval '${OFFLINE_AFTER_S} s'`;

/** The same of a node that may have no row in `node_agents`. */
export const agentIsConnected = (a: string): string => `coalesce(${agentIsSeen(a)}, false)`;

/** A claim that still holds its slot or node. */
export const claimIsLive = (c: string): string => `${c}.released_at is null`;

/** A live claim on the current node of its allocation. Claims left by a move count against no quota. */
export const claimCounts = (c: string): string => `${claimIsLive(c)} and ${c}.move_id is null`;

/** The live claim `c` holds the slot `s`: its own, or the one on the whole node. */
export const claimHoldsSlot = (c: string, s: string): string =>
  `${c}.node_id = ${s}.node_id and ${claimIsLive(c)} and (${c}.slot_id = ${s}.id or ${c}.claim_kind = 'node_exclusive')`;

/** The user `u` has a role in the project of the row `r`, which also names its organization. */
export const isInProject = (u: string, r: string): string =>
  `exists (select from tenant_memberships m where m.organization_id = ${r}.organization_id and m.user_id = ${u}.id
    and (m.role <> 'member' or exists (select from project_memberships p where p.project_id = ${r}.project_id and p.user_id = ${u}.id)))`;

/** A key of `u` that was given at launch to `a` still opens it. A platform role is none in a project. */
export const launchKeyCounts = (u: string, a: string): string => `(${u}.state = 'active' and ${isInProject(u, a)})`;

/** Whether any live claim holds the slot. */
export const slotIsClaimed = (s: string): string =>
  `exists (select from allocation_resource_claims c where ${claimHoldsSlot('c', s)})`;

/** Another slot with the disk or the GPU of `s` is taken. What was disabled and quarantined lost the device before. */
const slotElsewhere = (s: string, use: string): string =>
  `exists (select from node_resource_slots o where o.id <> ${s}.id and (o.nvme_serial = ${s}.nvme_serial or o.gpu_uuid = ${s}.gpu_uuid)
    and (${use}))`;

/**
 * The claim `c` on a whole node reached the disk of the decision `d`, whether its release wiped the disk or an operator had
 * excluded it. A revoked decision counts for the claims before its end.
 */
export const claimReachesDisk = (c: string, d: string): string =>
  `${c}.node_id = ${d}.node_id and ${c}.claim_kind = 'node_exclusive' and (${d}.state <> 'revoked' or ${c}.created_at < ${d}.state_since)`;

/** A claim on a whole node that reached the disk of `s`. */
const nodeElsewhere = (s: string, use: string): string =>
  `exists (select from disk_ownerships d join allocation_resource_claims c on ${claimReachesDisk('c', 'd')}
    where d.serial = ${s}.nvme_serial and (${use}))`;

/** An allocation holds the disk or the GPU of `s` in another slot, or its disk as part of another node. */
export const deviceIsHeldElsewhere = (s: string): string =>
  `(${slotElsewhere(s, "o.status not in ('available', 'quarantined')")}
    or ${nodeElsewhere(s, `d.node_id <> ${s}.node_id and ${claimIsLive('c')}`)})`;

/**
 * The wipe of `s` is its newest use: since then no allocation has had the disk or the GPU, in whichever slot or node.
 * False without a wipe. An allocation that had the device is known by the slot, or by the disk of the node, that named it.
 */
export const slotIsProven = (s: string): string =>
  `(${s}.wiped_at is not null and not ${deviceIsHeldElsewhere(s)} and not ${slotElsewhere(s, `o.last_claimed_at > ${s}.wiped_at`)}
    and not ${nodeElsewhere(s, `c.created_at > ${s}.wiped_at`)})`;
