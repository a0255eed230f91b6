/** Node enrollment, agents and tasks. */

import { TASKS, type TaskKind } from '@gpuaas/contract/task-kinds';
import { NO_HEARTBEAT } from '../../../server/src/domain/heartbeat.ts';
import {
  describeHost,
  hostMismatch,
  knownFields,
  learnHost,
  normalizeHost,
  unusableField,
} from '../../../server/src/domain/host-identity.ts';
import { isNodeOver } from '../../../server/src/domain/node-state.ts';
import { isNetwork } from '../../../server/src/domain/private-network.ts';
import { REASONS } from '../../../server/src/domain/reasons.ts';
import { FIELD_MESSAGES, REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, invalidField, Refusal, refuse } from '../core/errors.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { Node, NodeTask } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { addNode, hostOf } from '../seed/fleet.ts';
import { refuseNode } from '../simulation/actions.ts';
import { slotsOf } from '../simulation/placement.ts';
import { runTask, taskView } from '../simulation/task.ts';
import { nodeView } from '../views/node.ts';
import { emitNode, getNode, moveNode, UNBOUND } from './node.ts';

const NODE_API = 'https://nodes.gpuaas.example:8443';
const ENROLL_MS = 8_000;
const TOKEN_MS = 15 * 60_000;
const KINDS = Object.keys(TASKS) as TaskKind[];

const enrollmentOf = (world: World, node: Node) => {
  const id = world.mint('enrollment');
  const token = `gpe_${digestOf(id, 43)}`;
  const ca_sha256 = digestOf('the demo CA');
  return {
    id,
    node_id: node.id,
    host: node.host,
    token,
    expires_at: world.ago(-TOKEN_MS),
    node_api_url: NODE_API,
    ca_sha256,
    install_command: `sh install.sh --node-api-url ${NODE_API} --ca-sha256 ${ca_sha256} --token-file -`,
  };
};

/** By the rules of the server. */
const nameHost = (
  world: World,
  node: Pick<Node, 'id' | 'host'>,
  named: Req<'adminNodeRebind'>['body']['host'],
): void => {
  if (named === undefined) {
    if (world.requiresNamedHost && node.host.state === 'unbound')
      throw invalidField('host', FIELD_MESSAGES.host_required);
    return;
  }
  const unusable = unusableField(named);
  if (unusable !== undefined)
    throw new Refusal('invalid_request', REFUSALS.host_value_unusable(unusable.name), {
      errors: [{ pointer: `/body/host/${unusable.field}`, code: 'host', message: 'identifies no host' }],
    });
  const given = normalizeHost(named);
  const isBound = node.host.state === 'bound';
  if (isBound && hostMismatch({ host: node.host, named: [] }, given) !== null) throw conflict(REFUSALS.host_is_bound);
  const owner = [...world.nodes.values()].find(
    (one) =>
      one.id !== node.id &&
      !isNodeOver(one.state) &&
      knownFields(given).some((field) => one.host[field] === given[field]),
  );
  if (owner !== undefined) throw conflict(REFUSALS.host_has_node(describeHost(given), owner.name));
  node.host = isBound ? { ...node.host, ...learnHost(node.host, given) } : { ...UNBOUND, state: 'named', ...given };
};

/** In the demo the command is run on the host a little later. */
const enrollSoon = (world: World, node: Node, correlation_id: string): void =>
  world.agenda.after(ENROLL_MS, () => {
    if (node.state !== 'bootstrap_issued') return;
    const { product_serial, product_uuid, machine_id } = hostOf(node.name, null);
    node.host = {
      state: 'bound',
      product_serial: node.host.product_serial ?? product_serial,
      product_uuid: node.host.product_uuid ?? product_uuid,
      machine_id: node.host.machine_id ?? machine_id,
      bound_at: world.ago(),
    };
    node.is_connected = true;
    node.agent_version = '0.1.0';
    node.health = 'ok';
    node.is_runtime_validated = true;
    node.certificates.push({
      serial_number: digestOf(`${node.id} ${world.now()}`, 16),
      not_before: world.ago(),
      not_after: world.ago(-24 * 3_600_000),
      revoked_at: null,
      revoked_reason: null,
    });
    moveNode(world, node, { state: 'active', reason: null, correlation_id });
  });

const agentView = (world: World, node: Node) => ({
  node_id: node.id,
  is_connected: node.is_connected,
  last_seen_at: node.is_connected ? world.ago(4_000) : node.last_seen_at,
  agent_version: node.agent_version,
  boot_id: node.agent_version === null ? null : node.boot_id,
  booted_at: node.agent_version === null ? null : node.booted_at,
  clock_skew_ms: node.agent_version === null ? null : node.clock_skew_ms,
  kinds: node.agent_version === null ? [] : KINDS,
  certificates: node.certificates,
});

const unknownName = (field: string, noun: string, name: string): Refusal =>
  invalidField(field, `names no ${noun}`, 'unknown', `There is no ${noun} named "${name}".`);

export const nodeAgent = {
  adminNodeCreate: async (ctx: MockCtx, { body }: Req<'adminNodeCreate'>) => {
    const { world } = ctx;
    const { private_network } = body;
    if (private_network !== undefined && !isNetwork(private_network))
      throw invalidField(
        'private_network',
        FIELD_MESSAGES.network_not_first,
        'network',
        REFUSALS.not_a_network(private_network),
      );
    if (!world.regions.some((one) => one.name === body.region_name && one.retired_at === null))
      throw unknownName('region_name', 'region', body.region_name);
    const pool = world.pools.find((one) => one.name === (body.pool_name ?? 'shared') && one.retired_at === null);
    if (pool === undefined) throw unknownName('pool_name', 'pool', body.pool_name ?? 'shared');
    if ([...world.nodes.values()].some((one) => one.name === body.name && one.state !== 'deleted'))
      throw new Refusal('already_exists', REFUSALS.node_name_taken(body.name));
    const draft: Pick<Node, 'id' | 'host'> = { id: '', host: { ...UNBOUND } };
    nameHost(world, draft, body.host);
    const node = addNode(world, body.name, world.nodes.size + 1, {
      id: world.mint('node'),
      region_name: body.region_name,
      pool_name: pool.name,
      pool_organization_id: pool.organization_id,
      gpu_model: body.gpu_model,
      gpu_count: body.gpu_count,
      capacity_mode: body.capacity_mode,
      private_network: body.private_network ?? '10.100.0.0/24',
      state: 'bootstrap_issued',
      state_reason: null,
      state_since: world.ago(),
      created_at: world.ago(),
      booted_at: world.ago(600_000),
      health: 'unknown',
      launch_failures: 0,
      launch_failed_at: null,
      is_runtime_validated: false,
      is_connected: false,
      last_seen_at: null,
      reconciled_at: null,
      agent_version: null,
      certificates: [],
      images: [],
      discovered_at: null,
      host: draft.host,
    });
    emitNode(world, node, ctx.correlation_id);
    enrollSoon(world, node, ctx.correlation_id);
    ctx.target('node', node.id);
    return { node: nodeView(ctx)(node), enrollment: enrollmentOf(world, node) };
  },
  adminNodeEnrollmentCreate: async (ctx: MockCtx, { params, body }: Req<'adminNodeEnrollmentCreate'>) => {
    const node = getNode(ctx, params.node_id);
    refuse(refuseNode(ctx.world, node, 'enroll'));
    nameHost(ctx.world, node, body.host);
    enrollSoon(ctx.world, node, ctx.correlation_id);
    return enrollmentOf(ctx.world, node);
  },
  adminNodeRebind: async (ctx: MockCtx, { params, body }: Req<'adminNodeRebind'>) => {
    const { world, correlation_id } = ctx;
    const node = getNode(ctx, params.node_id);
    refuse(refuseNode(world, node, 'rebind'));
    const draft: Pick<Node, 'id' | 'host'> = { id: node.id, host: { ...UNBOUND } };
    nameHost(world, draft, body.host);
    node.host = draft.host;
    for (const slot of slotsOf(world, node.id))
      Object.assign(slot, {
        approval: 'disabled',
        status: 'quarantined',
        wiped_at: null,
        status_reason: REASONS.rebound,
      });
    for (const one of node.certificates) {
      one.revoked_at ??= world.ago();
      one.revoked_reason ??= REASONS.rebound;
    }
    Object.assign(node, { is_connected: false, discovered_at: null, health: 'unknown', is_runtime_validated: false });
    moveNode(world, node, { state: 'bootstrap_issued', reason: REASONS.rebound, correlation_id });
    enrollSoon(world, node, correlation_id);
    return enrollmentOf(world, node);
  },
  adminNodeAgentGet: async (ctx: MockCtx, { params }: Req<'adminNodeAgentGet'>) =>
    agentView(ctx.world, getNode(ctx, params.node_id)),
  adminNodeAgentRevoke: async (ctx: MockCtx, { params, body }: Req<'adminNodeAgentRevoke'>) => {
    const { world } = ctx;
    const node = getNode(ctx, params.node_id);
    if (refuse(refuseNode(world, node, 'revoke_agent'))) return agentView(world, node);
    for (const one of node.certificates) {
      one.revoked_at ??= world.ago();
      one.revoked_reason ??= body.reason;
    }
    node.last_seen_at = world.ago();
    node.is_connected = false;
    if (node.state === 'active')
      moveNode(world, node, {
        state: 'offline',
        reason: NO_HEARTBEAT,
        correlation_id: ctx.correlation_id,
      });
    return agentView(world, node);
  },
  adminNodeAgentUpdate: async (ctx: MockCtx, { params, body }: Req<'adminNodeAgentUpdate'>) => {
    const { world, correlation_id } = ctx;
    const node = getNode(ctx, params.node_id);
    if (node.agent_version === null) throw conflict(REFUSALS.agent_never_connected);
    const isUpdate = (one: NodeTask) => one.node_id === node.id && one.kind === 'agent.update';
    if (world.tasks.some((one) => isUpdate(one) && one.finished_at === null)) throw conflict(REFUSALS.agent_updating);
    const asked = { node_id: node.id, kind: 'agent.update', allocation_id: null, correlation_id } as const;
    const task = runTask(world, asked, 4, () => {
      node.agent_version = body.version;
    });
    return taskView(task);
  },
  adminNodeTaskList: async (ctx: MockCtx, { params, query }: Req<'adminNodeTaskList'>) => {
    const node = getNode(ctx, params.node_id);
    const rows = ctx.world.tasks
      .filter((task) => task.node_id === node.id)
      .filter((task) => query.state === undefined || task.state === query.state);
    return pageOf(ctx, query, newestFirst(rows), idOf, taskView);
  },
  adminNodeTaskGet: async (ctx: MockCtx, { params }: Req<'adminNodeTaskGet'>) => {
    const node = getNode(ctx, params.node_id);
    const task = ctx.world.tasks.find((one) => one.id === params.task_id && one.node_id === node.id);
    return must(task, 'task');
  },
};
