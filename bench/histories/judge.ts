/**
 * The model of the responses and events that tenants received. Each rule compares them with each other, with what the
 * API returns in the end, with the hosts, the state graph or the invariants.
 */

import { INVARIANTS } from '../../server/src/db/invariant.ts';
import { type AllocationState, billingEffect } from '../../server/src/domain/allocation.ts';
import { POWER_MOVES, type PowerState } from '../../server/src/domain/power.ts';
import { OPERATOR } from './base.ts';
import { idOf, type Launch, type Observed, type SeenEvent } from './observed.ts';
import { type Player, readEvents } from './play.ts';
import { judgeRefusals } from './refusal.ts';
import { findSecret, machineState } from './secret.ts';
import type { World } from './world.ts';

export type Found = Readonly<{
  id: string;
  state: AllocationState;
  version: number;
  gpu_count: number;
  power: Readonly<{ state: PowerState }> | null;
  activated_at: string | null;
  release_requested_at: string | null;
}>;

const stateOf = (event: SeenEvent): AllocationState => event.data['state'] as AllocationState;

export const judgeEvents = (found: Found, events: readonly SeenEvent[], observed: Observed): string[] => {
  const own = events.filter(({ type, subject }) => type === 'allocation.changed' && subject === found.id);
  const states = own.map(stateOf);
  const wrong: string[] = [];
  if (states[0] !== 'requested') wrong.push(`its first event is ${states[0] ?? 'missing'}`);
  for (const [index, state] of states.entries()) {
    const before = states[index - 1];
    if (before !== undefined && before !== state && billingEffect(before, state) === undefined)
      wrong.push(`its events go from ${before} to ${state}`);
  }
  if (states.at(-1) !== found.state) wrong.push(`it is ${found.state}, and its last event says ${states.at(-1)}`);
  const sightings = observed.sightings.filter(({ id }) => id === found.id);
  for (const { state } of sightings)
    if (!states.includes(state as AllocationState)) wrong.push(`a response showed ${state}, and no event does`);
  for (const early of sightings)
    for (const late of sightings)
      if (early.ended < late.began && late.version < early.version)
        wrong.push(`a response showed version ${early.version}, and a later one ${late.version}`);
  return wrong.map((sentence) => `${found.id}: ${sentence}`);
};

/** Power goes by its moves, from on when the VM became active; responses show no other state. */
export const judgePower = (found: Found, events: readonly SeenEvent[], observed: Observed): string[] => {
  const own = events.filter(({ type, subject }) => type === 'allocation.power_changed' && subject === found.id);
  const states: PowerState[] = ['on', ...own.map(({ data }) => data['power_state'] as PowerState)];
  const wrong: string[] = [];
  for (const [index, state] of states.entries()) {
    const before = states[index - 1];
    if (before !== undefined && before !== state && !(POWER_MOVES[before] as readonly string[]).includes(state))
      wrong.push(`its power goes from ${before} to ${state}`);
  }
  if (found.power !== null && found.power.state !== states.at(-1))
    wrong.push(`its power is ${found.power.state}, and its last event says ${states.at(-1)}`);
  for (const { id, power } of observed.sightings)
    if (id === found.id && power !== null && !states.includes(power as PowerState))
      wrong.push(`a response showed power ${power}, and no event does`);
  return wrong.map((sentence) => `${found.id}: ${sentence}`);
};

/** The state of each grant is that of its last event; one that was revoked stays so. */
export const judgeGrants = async ({ world, observed }: Player): Promise<string[]> => {
  const wrong: string[] = [];
  for (const { tenant, id, project_id, allocation_id, is_revoked } of observed.grants) {
    const path = `/api/v1/projects/${project_id}/allocations/${allocation_id}/access-grants?limit=200`;
    const { status, body } = await world.call(tenant.name, { method: 'GET', path });
    // A deleted project is gone with its grants.
    if (status === 404 && project_id !== tenant.project_id) continue;
    const found = body?.items?.find((one: { id: string }) => one.id === id);
    const events = observed.events.get(project_id) ?? [];
    const states = events.filter(({ data }) => data['access_grant_id'] === id).map(({ data }) => data['state']);
    const last = events.findLast(({ type, subject }) => type === 'allocation.changed' && subject === allocation_id);
    // Grants end with the allocation, without an event of their own.
    const hasEnded = last !== undefined && !['requested', 'provisioning', 'active'].includes(stateOf(last));
    if (found === undefined) wrong.push(`grant ${id} is not listed: ${status}`);
    else if (found.state !== states.at(-1) && !(hasEnded && found.state === 'revoked'))
      wrong.push(`grant ${id} of ${allocation_id} is ${found.state}, and its events say ${states.join(', ')}`);
    else if (is_revoked && found.state !== 'revoked' && found.state !== 'revoking')
      wrong.push(`grant ${id} was revoked and is ${found.state}`);
  }
  return wrong;
};

/** The stream of a project sends what the list says, in its order. */
export const judgeStreams = async ({ observed }: Player): Promise<string[]> => {
  const wrong: string[] = [];
  for (const { followed, last } of observed.streams) {
    const listed = (observed.events.get(followed.tenant.project_id) ?? []).map(({ id }) => id);
    const expected = listed.slice(listed.indexOf(last) + 1);
    const end = expected.at(-1);
    if (end !== undefined) await followed.has(end);
    wrong.push(...followed.wrong);
    const differs = expected.findIndex((id, index) => followed.ids[index] !== id);
    if (differs >= 0 || followed.ids.length > expected.length)
      wrong.push(
        `the stream of ${followed.tenant.name} has ${followed.ids.length} events and the list ${expected.length}: at ${differs} ${followed.ids[differs]} and ${expected[differs]}`,
      );
  }
  return wrong;
};

export const judgeUsage = (
  found: Found,
  records: readonly { started_at: string; ended_at: string | null }[],
): string[] => {
  const expected = found.activated_at === null ? 0 : 1;
  if (records.length !== expected)
    return [`${found.id} has ${records.length} usage records, and should have ${expected}`];
  const [record] = records;
  if (record === undefined) return [];
  const wrong: string[] = [];
  if (record.started_at !== found.activated_at) wrong.push('is not charged from its activation');
  if ((record.ended_at === null) !== (found.state === 'active'))
    wrong.push(`is ${found.state}, charged until ${record.ended_at}`);
  if (record.ended_at !== null && record.ended_at !== found.release_requested_at)
    wrong.push('is not charged until its release');
  return wrong.map((sentence) => `${found.id} ${sentence}`);
};

/** Each key has the effect that its response says, once. */
export const judgeLaunch = async (player: Player, launch: Launch): Promise<string[]> => {
  const { world, observed } = player;
  const get = (path: string) => world.call(launch.tenant.name, { method: 'GET', path });
  const base = `/api/v1/projects/${launch.project_id}`;
  const { rows } = await world.sql.query<{ id: string }>('select id from allocations where name = $1', [launch.name]);
  const status = launch.reply?.status ?? 0;
  const count = status === 202 ? [1] : status === 0 ? [0, 1] : [0];
  if (!count.includes(rows.length))
    return [`${launch.name} got ${status}, and there are ${rows.length} allocations of it`];
  const id = idOf(launch);
  if (id === null) return [];
  if (rows[0]?.id !== id) return [`${launch.name} got ${id}, and the allocation is ${rows[0]?.id}`];
  const answer = await get(`${base}/allocations/${id}`);
  // A deleted project is gone with its allocations.
  if (answer.status === 404 && launch.project_id !== launch.tenant.project_id) return [];
  if (answer.status !== 200) return [`${id} cannot be read: ${answer.status}`];
  const found: Found = answer.body;
  const usage = await get(`${base}/usage?allocation_id=${id}`);
  return [
    ...judgeEvents(found, observed.events.get(launch.project_id) ?? [], observed),
    ...judgePower(found, observed.events.get(launch.project_id) ?? [], observed),
    ...judgeUsage(found, usage.body?.items ?? []),
  ];
};

/** Quota in use is what is held. */
export const judgeQuota = async (world: World): Promise<string[]> => {
  const wrong: string[] = [];
  for (const tenant of world.base.tenants) {
    const { body } = await world.call(tenant.name, {
      method: 'GET',
      path: `/api/v1/projects/${tenant.project_id}/quota`,
    });
    const { rows } = await world.sql.query<{ gpus: number }>(
      `select coalesce(sum(c.gpu_count), 0)::integer as gpus from allocation_resource_claims c
       where c.organization_id = $1 and c.released_at is null and c.move_id is null`,
      [tenant.organization_id],
    );
    if (body.organization.gpu_used !== rows[0]?.gpus)
      wrong.push(`${tenant.name} uses ${body.organization.gpu_used} GPUs of its quota, and holds ${rows[0]?.gpus}`);
  }
  return wrong;
};

/** Accepted changes have one audit row, refused ones none that reports success. A response that is repeated has its own. */
export const judgeAudit = async (world: World, observed: Observed): Promise<string[]> => {
  const { rows } = await world.sql.query<{ correlation_id: string; n: number }>(
    `select correlation_id, count(*)::integer as n from audit_logs
     where result = 'success' and actor_kind <> 'system' and correlation_id like 'history-%' and not metadata ? 'replayed' group by 1`,
  );
  const audited = new Map(rows.map(({ correlation_id, n }) => [correlation_id, n]));
  const wrong = observed.changes.flatMap(({ what, correlation_id, status }) => {
    const n = audited.get(correlation_id) ?? 0;
    const fits = status === 0 ? n <= 1 : n === (status < 300 ? 1 : 0);
    return fits ? [] : [`${what} got ${status} and has ${n} audit rows (${correlation_id})`];
  });
  const verify = await world.call(OPERATOR, { method: 'GET', path: '/api/v1/admin/audit-logs/verify' });
  if (verify.body?.intact !== true) wrong.push(`the audit chain is not intact: ${JSON.stringify(verify.body)}`);
  return wrong;
};

/** The hosts have no data and no VM of an allocation that left. */
export const judgeHosts = async (world: World): Promise<string[]> => {
  const { rows: slots } = await world.sql.query<{
    id: string;
    node_id: string;
    nvme_serial: string | null;
    status: string;
    holder: string | null;
  }>(
    `select s.id, s.node_id, s.nvme_serial, s.status, (select c.allocation_id from allocation_resource_claims c
       where c.released_at is null and c.node_id = s.node_id and (c.slot_id = s.id or c.claim_kind = 'node_exclusive')) as holder
     from node_resource_slots s`,
  );
  const { rows: claims } = await world.sql.query<{ allocation_id: string; node_id: string }>(
    'select allocation_id, node_id from allocation_resource_claims where released_at is null',
  );
  const wrong: string[] = [];
  for (const host of world.hosts) {
    for (const slot of slots.filter(({ node_id }) => node_id === host.node.id)) {
      const owner = slot.nvme_serial === null ? null : findSecret(host, slot.nvme_serial);
      if (owner !== null && slot.status === 'available') wrong.push(`${slot.id} is available with data of ${owner}`);
      if (owner !== null && slot.status === 'in_use' && slot.holder !== owner)
        wrong.push(`${slot.id} is in use by ${slot.holder} with data of ${owner}`);
    }
    for (const domain of machineState(host).domains)
      if (
        !claims.some(({ allocation_id, node_id }) => allocation_id === domain.allocation_id && node_id === host.node.id)
      )
        wrong.push(
          `${host.node.spec.name} has VM ${domain.name}, which is ${domain.state}, and its allocation has no claim there`,
        );
  }
  return wrong;
};

export const judgeInvariants = async (world: World): Promise<string[]> => {
  const wrong: string[] = [];
  for (const { name, sql } of INVARIANTS) {
    const { rows } = await world.sql.query<{ subject_id: string; detail: string }>(sql);
    wrong.push(...rows.slice(0, 5).map(({ subject_id, detail }) => `invariant ${name}: ${subject_id}: ${detail}`));
  }
  return wrong;
};

/** Everything that is wrong, as sentences; empty if the history is clean. */
export const judge = async (player: Player): Promise<string[]> => {
  const { world, observed } = player;
  for (const tenant of world.base.tenants)
    for (const project of observed.projects.get(tenant.name) ?? []) await readEvents(player, tenant, project);
  // After the last reading, which may have found something.
  const wrong = [...observed.wrong];
  for (const launch of observed.launches) wrong.push(...(await judgeLaunch(player, launch)));
  wrong.push(
    ...judgeRefusals(observed),
    ...(await judgeGrants(player)),
    ...(await judgeStreams(player)),
    ...(await judgeQuota(world)),
    ...(await judgeAudit(world, observed)),
  );
  wrong.push(...(await judgeHosts(world)), ...(await judgeInvariants(world)));
  return wrong;
};
