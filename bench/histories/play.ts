/** Plays one command of a tenant or an operator, and records the response. */
import { judgeAnswer, judgeRefusal } from './answer.ts';
import type { BaseTenant } from './base.ts';
import { OPERATOR } from './base.ts';
import type { Command } from './command.ts';
import { playFault } from './fault.ts';
import { type Decision, idOf, type Launch, type Observed, type SeenEvent } from './observed.ts';
import { writeSecret } from './secret.ts';
import type { Reply, Request, World } from './world.ts';

const REASON = 'A history asks for it.';
const PAGE = 'limit=200';

export type Player = Readonly<{
  world: World;
  observed: Observed;
  /** Distinguishes the commands of a history: names, keys and correlation ids follow from it. */
  number: number;
}>;

const at = <T>(list: readonly T[], pick: number): T | undefined =>
  list.length === 0 ? undefined : list[pick % list.length];

let order = 0;

/** Done: without a response of its own. Undefined: there is nothing to play it on. */
type Played = Answered | 'done' | undefined;
/** `target`: the allocation that the response must be about. */
type Answered = Reply & Readonly<{ target?: string }>;

const noteDecision = (
  { observed }: Player,
  decision: Pick<Decision, 'what' | 'kind' | 'project_id' | 'target' | 'gpus' | 'began'>,
  tenant: BaseTenant,
  { status, body }: Reply,
): void => {
  if (status !== 0)
    observed.decisions.push({
      ...decision,
      tenant: tenant.name,
      status,
      code: status < 300 ? null : (body?.code ?? null),
    });
};

/** Sends a request, and checks what holds for every response. */
const send = async (player: Player, who: string, request: Request): Promise<Reply> => {
  const began = order++;
  const reply = await player.world.call(who, request);
  const ended = order++;
  const { observed } = player;
  if (reply.status >= 500)
    observed.wrong.push(`${request.method} ${request.path} returned ${reply.status}: ${JSON.stringify(reply.body)}`);
  if (request.method !== 'GET' && request.correlation_id !== undefined)
    observed.changes.push({
      what: `${request.method} ${request.path}`,
      correlation_id: request.correlation_id,
      status: reply.status,
    });
  const { body } = reply;
  if (
    who !== OPERATOR &&
    reply.status >= 200 &&
    reply.status < 300 &&
    /^\/api\/v1\/projects\/\w+\/allocations/.test(request.path)
  )
    if (typeof body?.id === 'string' && body.id.startsWith('alc_') && typeof body.state === 'string')
      observed.sightings.push({
        id: body.id,
        state: body.state,
        power: body.power?.state ?? null,
        version: body.version,
        began,
        ended,
      });
  return reply;
};

const keyOf = (player: Player): Pick<Request, 'key' | 'correlation_id'> => ({
  key: `history-key-${player.number}`,
  correlation_id: `history-${player.number}`,
});
const correlated = (player: Player) => ({ correlation_id: `history-${player.number}` });

export const readEvents = async (player: Player, tenant: BaseTenant, project_id: string): Promise<void> => {
  const all: SeenEvent[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const next = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await send(player, tenant.name, {
      method: 'GET',
      path: `/api/v1/projects/${project_id}/events?${PAGE}${next}`,
    });
    if (status !== 200) return;
    all.push(...body.items);
    cursor = body.next_cursor;
  }
  const known = player.observed.events.get(project_id) ?? [];
  const differs = known.findIndex((event, index) => all[index]?.id !== event.id);
  if (differs >= 0)
    player.observed.wrong.push(
      `event ${differs} of ${project_id} was ${known[differs]?.id}, and is ${all[differs]?.id ?? 'missing'}: a reader has missed one`,
    );
  // A list that another reader has made longer meanwhile stays.
  if (all.length >= (player.observed.events.get(project_id) ?? []).length) player.observed.events.set(project_id, all);
};

const launch = async (
  player: Player,
  tenant: BaseTenant,
  command: Extract<Command, { do: 'launch' }>,
): Promise<Played> => {
  const { observed } = player;
  const project_id = at(observed.projects.get(tenant.name) ?? [], command.project % 3 === 0 ? command.project : 0);
  if (project_id === undefined) return undefined;
  const name = `launch-${player.number}`;
  const body = {
    name,
    sku_name: command.gpus === 8 ? 'h200-sxm-baremetal-8g' : 'h200-sxm-slice',
    region_name: 'us-buffalo-1',
    gpu_count: command.gpus,
    ...(command.key ? { ssh_key_ids: [tenant.ssh_key_id] } : {}),
  };
  const made: Launch = {
    ...{ tenant, project_id, name, body, key: keyOf(player).key ?? '' },
    gpu_count: command.gpus,
    reply: null,
  };
  observed.launches.push(made);
  const began = order++;
  made.reply = await send(player, tenant.name, {
    ...{ method: 'POST', path: `/api/v1/projects/${project_id}/allocations`, body },
    ...keyOf(player),
  });
  const asked = { what: name, kind: 'launch', project_id, target: null, gpus: command.gpus, began } as const;
  noteDecision(player, asked, tenant, made.reply);
  return made.reply;
};

/** The same key gives the same response, whatever happened since. */
const launchAgain = async (player: Player, tenant: BaseTenant, pick: number): Promise<Played> => {
  const sent = at(
    player.observed.launches.filter((one) => one.tenant === tenant && one.reply !== null && one.reply.status === 202),
    pick,
  );
  if (sent === undefined) return undefined;
  const reply = await player.world.call(tenant.name, {
    ...{ method: 'POST', path: `/api/v1/projects/${sent.project_id}/allocations`, body: sent.body },
    key: sent.key,
  });
  const isGone = reply.status === 404 || reply.status === 0;
  if (!isGone && JSON.stringify(reply.body) !== JSON.stringify(sent.reply?.body))
    player.observed.wrong.push(`${sent.name} was repeated with its key and got another response, ${reply.status}`);
  return 'done';
};

const livingOf = (player: Player, tenant: BaseTenant): readonly Launch[] =>
  player.observed.launches.filter((one) => one.tenant === tenant && idOf(one) !== null);

const playTenant = async (player: Player, command: Command & { who: number }): Promise<Played> => {
  const { world, observed } = player;
  const tenant = at(world.base.tenants, command.who);
  if (tenant === undefined) return undefined;
  if (command.do === 'launch') return launch(player, tenant, command);
  if (command.do === 'events') {
    for (const project of observed.projects.get(tenant.name) ?? []) await readEvents(player, tenant, project);
    return 'done';
  }
  if (command.do === 'project_create') {
    const reply = await send(player, tenant.name, {
      ...{ method: 'POST', path: `/api/v1/organizations/${tenant.organization_id}/projects` },
      body: { name: `project-${player.number}` },
      ...keyOf(player),
    });
    if (reply.status === 201) observed.projects.get(tenant.name)?.push(reply.body.id);
    return reply;
  }
  if (command.do === 'quota') {
    const list = await world.call(OPERATOR, {
      method: 'GET',
      path: `/api/v1/admin/quotas?organization_id=${tenant.organization_id}`,
    });
    const quota = list.body?.items?.find((one: { project_id: string | null }) => one.project_id === null);
    const limits = observed.limits.get(tenant.name) ?? [];
    observed.limits.set(tenant.name, [...limits, quota?.gpu_limit ?? null, command.limit]);
    return send(player, OPERATOR, {
      ...{ method: 'PUT', path: '/api/v1/admin/quotas', if_match: quota?.version ?? 1 },
      body: { organization_id: tenant.organization_id, gpu_limit: command.limit },
      ...correlated(player),
    });
  }
  if (!('pick' in command)) return undefined;
  if (command.do === 'launch_again') return launchAgain(player, tenant, command.pick);
  if (command.do === 'project_delete') {
    const project = at((observed.projects.get(tenant.name) ?? []).slice(1), command.pick);
    if (project === undefined) return undefined;
    const sent = { project_id: project, status: 0, ended: Number.POSITIVE_INFINITY };
    observed.deletions.push(sent);
    const reply = await send(player, tenant.name, {
      ...{ method: 'DELETE', path: `/api/v1/projects/${project}` },
      ...correlated(player),
    });
    Object.assign(sent, { status: reply.status, ended: order++ });
    return reply;
  }
  if (command.do === 'revoke') {
    const grant = at(
      observed.grants.filter((one) => one.tenant === tenant),
      command.pick,
    );
    if (grant === undefined) return undefined;
    const reply = await send(player, tenant.name, {
      method: 'DELETE',
      path: `/api/v1/projects/${grant.project_id}/allocations/${grant.allocation_id}/access-grants/${grant.id}`,
      ...correlated(player),
    });
    if (reply.status === 202) grant.is_revoked = true;
    return { ...reply, target: grant.id };
  }
  const target = at(livingOf(player, tenant), command.pick);
  const id = target === undefined ? null : idOf(target);
  if (target === undefined || id === null) return undefined;
  const path = `/api/v1/projects/${target.project_id}/allocations/${id}`;
  const post = async (action: string): Promise<Answered> => {
    const began = order++;
    const request = { method: 'POST', path: `${path}/${action}`, body: {}, ...keyOf(player) };
    const reply = await send(player, tenant.name, request);
    const kind = action === 'release' ? 'release' : 'other';
    const asked = { what: `${action} ${id}`, kind, project_id: target.project_id, target: id, gpus: 0, began } as const;
    noteDecision(player, asked, tenant, reply);
    return { ...reply, target: id };
  };
  switch (command.do) {
    case 'release':
      return post('release');
    case 'power':
      return post(command.to);
    case 'look':
      return { ...(await send(player, tenant.name, { method: 'GET', path })), target: id };
    case 'write_disk':
      return (await writeSecret(world, id)) ? 'done' : undefined;
    case 'protect': {
      const { status, body } = await send(player, tenant.name, { method: 'GET', path });
      if (status !== 200) return undefined;
      if (command.on) observed.protections.add(id);
      const change = { is_protected: command.on };
      const request = { method: 'PATCH', path, body: change, if_match: body.version, ...correlated(player) };
      return { ...(await send(player, tenant.name, request)), target: id };
    }
    case 'grant': {
      const reply = await send(player, tenant.name, {
        ...{ method: 'POST', path: `${path}/access-grants`, body: { ssh_key_id: tenant.ssh_key_id } },
        ...keyOf(player),
      });
      if (reply.status === 201)
        observed.grants.push({
          allocation_id: id,
          project_id: target.project_id,
          id: reply.body.id,
          tenant,
          is_revoked: false,
        });
      return reply;
    }
    case 'trespass': {
      const other = world.base.tenants.find((one) => one !== tenant);
      const reply = await world.call(other?.name ?? '', { method: 'GET', path });
      if (reply.status !== 404 && reply.status !== 0)
        observed.wrong.push(`${other?.name} read ${path} of ${tenant.name}: ${reply.status}`);
      return 'done';
    }
    default:
      return undefined;
  }
};

const idsOf = async (player: Player, text: string): Promise<string[]> =>
  (await player.world.sql.query<{ id: string }>(text)).rows.map(({ id }) => id);

const playOperator = async (player: Player, command: Command): Promise<Played> => {
  const { world } = player;
  const post = (path: string, body: object, version?: number) =>
    send(player, OPERATOR, {
      ...{ method: 'POST', path: `/api/v1/admin/${path}`, body, ...keyOf(player) },
      ...(version === undefined ? {} : { if_match: version }),
    });
  const read = (path: string) => world.call(OPERATOR, { method: 'GET', path: `/api/v1/admin/${path}` });
  if ('node' in command) {
    const node = at(world.base.nodes, command.node);
    if (node === undefined) return undefined;
    const path = `nodes/${node.id}`;
    switch (command.do) {
      case 'drain':
        return post(`${path}/drain`, { is_draining: command.on, reason: REASON });
      case 'hold':
        return post(`${path}/hold`, { is_held: command.on, reason: REASON });
      case 'clear_failures':
        return post(`${path}/launch-failures/clear`, { reason: REASON });
      case 'convert': {
        const plan = await read(`${path}/convert?to=${command.to}`);
        if (plan.status !== 200) return plan;
        return post(`${path}/convert`, { to: command.to, plan_hash: plan.body.plan_hash });
      }
      case 'slot': {
        const slots = await read(`${path}/resource-slots?limit=100`);
        const slot = at((slots.body?.items ?? []) as { id: string; version: number }[], command.slot);
        if (slot === undefined) return undefined;
        return post(`${path}/resource-slots/${slot.id}/${command.to}`, { reason: REASON }, slot.version);
      }
      case 'approve': {
        const found = await read(`${path}/slice-topology/discovery`);
        if (found.status !== 200 || !found.body.map) return undefined;
        return post(`${path}/resource-slots/approve`, { map_hash: found.body.map.map_hash });
      }
      case 'retire':
        return post(`${path}/retire`, { reason: REASON });
      case 'node_delete': {
        // Only a retired node can be deleted.
        const [retired = node.id] = await idsOf(player, "select id from nodes where state = 'retired' order by id");
        return send(player, OPERATOR, {
          ...{ method: 'DELETE', path: `/api/v1/admin/nodes/${retired}` },
          ...correlated(player),
        });
      }
      default:
        return undefined;
    }
  }
  switch (command.do) {
    case 'force_release':
    case 'force_cleanup': {
      const id = at(await idsOf(player, 'select id from allocations order by id'), command.pick);
      if (id === undefined) return undefined;
      const reply =
        command.do === 'force_release'
          ? await post(`allocations/${id}/force-release`, { reason: REASON })
          : await post(`allocations/${id}/force-cleanup`, { reason: REASON, runtime_verified_absent: command.absent });
      return { ...reply, target: id };
    }
    case 'run_retry': {
      const id = at(
        await idsOf(player, "select id from workflow_runs where state = 'stuck' order by id"),
        command.pick,
      );
      return id === undefined ? undefined : post(`workflow-runs/${id}/retry`, {});
    }
    case 'run_cancel': {
      const live = "select id from workflow_runs where state in ('pending', 'running', 'waiting') order by id";
      const id = at(await idsOf(player, live), command.pick);
      return id === undefined ? undefined : post(`workflow-runs/${id}/cancel`, { reason: REASON });
    }
    case 'rotate': {
      const made = await post('trust-keys', { purpose: command.purpose, reason: REASON });
      const staged = await read(`trust-keys?purpose=${command.purpose}`);
      const key = staged.body?.items?.find((one: { state: string }) => one.state === 'staged');
      if (key === undefined) return made;
      return send(player, OPERATOR, {
        ...{ method: 'POST', path: `/api/v1/admin/trust-keys/${key.id}/activate`, body: { reason: REASON } },
        ...{ if_match: key.version, key: `history-key-${player.number}-activate` },
        correlation_id: `history-${player.number}-activate`,
      });
    }
    default:
      return undefined;
  }
};

const count = ({ accepted }: Observed, command: Command): void => {
  accepted.set(command.do, (accepted.get(command.do) ?? 0) + 1);
};

export const play = async (player: Player, command: Command): Promise<void> => {
  const { observed } = player;
  if (await playFault(player.world, command)) return count(observed, command);
  const reply = 'who' in command ? await playTenant(player, command) : await playOperator(player, command);
  if (reply === undefined) return;
  if (reply === 'done') return count(observed, command);
  const { status, body, target = null } = reply;
  if (status >= 200 && status < 300) {
    count(observed, command);
    const wrong = status === 204 ? null : judgeAnswer(command, target, body);
    if (wrong !== null) observed.wrong.push(wrong);
  } else if (status >= 400 && status < 500) {
    const wrong = judgeRefusal(command, status, body);
    if (wrong !== null) observed.wrong.push(wrong);
  }
};
