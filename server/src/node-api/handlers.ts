/** The table of contents of the node API: one line per operation. A missing, extra or mistyped one does not compile. */

import type { Readable } from 'node:stream';
import type { NodeBody, NodeOperationId, NodeParams, NodeResponse } from '@gpuaas/contract/node';
import type { Peer } from '../agents/certificate-register.ts';
import type { Heartbeats } from '../agents/heartbeat.ts';
import type { Dispatcher } from '../agents/poll-dispatcher.ts';
import type { Caller } from '../agents/refusal-audit.ts';
import { type RefusalDeps, recordRefusals } from '../agents/task-refusal.ts';
import { finish, health, progress, type ResultDeps, start } from '../agents/task-result.ts';
import { hostMismatch, normalizeHost } from '../domain/host-identity.ts';
import { AppError, notFound } from '../errors.ts';
import { type InventoryDeps, record } from '../services/inventory.ts';
import { type ShipDeps, ship } from '../services/log-line.ts';
import { type EnrollDeps, enroll, renew } from '../services/node-enroll.ts';

type Release = Readonly<{ stream: Readable; size: number }>;
type Releases = Readonly<{ open(digest: string): Promise<Release | undefined> }>;

export type NodeApiDeps = EnrollDeps &
  ResultDeps &
  ShipDeps &
  InventoryDeps &
  RefusalDeps &
  Readonly<{ dispatcher: Dispatcher; heartbeats: Heartbeats; releases: Releases }>;

export type NodeCtx = Readonly<{
  caller: Caller;
  /** The calling node; only operations without a certificate have none, and they do not read it. */
  peer: Peer;
  /** Runs when the caller disconnects before the response. */
  onDisconnect(fn: () => void): void;
}>;

type Request<K extends NodeOperationId> = Readonly<{ params: NodeParams<K>; body: NodeBody<K> }>;
type HandlerResponse<K extends NodeOperationId> = undefined extends NodeResponse<K> ? Release : NodeResponse<K>;

export type NodeHandlers = {
  readonly [K in NodeOperationId]: (ctx: NodeCtx, req: Request<K>) => Promise<HandlerResponse<K>>;
};

export const createNodeHandlers = (deps: NodeApiDeps): NodeHandlers => ({
  trustBundleGet: async () => deps.trust().bundle,
  nodeEnroll: ({ caller }, { body }) => enroll(deps, caller, body),
  certificateRenew: ({ caller, peer }, { body }) => renew(deps, caller, peer, body),
  taskWait: async ({ peer, onDisconnect }, { body }) => {
    const host = normalizeHost(body.host);
    // A certificate that was copied to another host gets no task there.
    const wrong = peer.host === null ? null : hostMismatch({ host: peer.host, named: peer.host.named }, host);
    if (wrong !== null) throw new AppError('permission_denied', wrong.sentence);
    const no_tasks_reason = deps.heartbeats.record(peer.node_id, body, peer.host === null ? host : null);
    const held = deps.dispatcher.wait(peer.node_id, { ...body, no_tasks_reason });
    onDisconnect(held.abandon);
    return held.response;
  },
  taskStart: (_ctx, { params, body }) => start(deps, params, body),
  taskProgress: (_ctx, { params, body }) => progress(deps, params, body),
  taskResult: (_ctx, { params, body }) => finish(deps, params, body),
  refusalReport: ({ caller, peer }, { body }) => recordRefusals(deps, caller, peer.node_id, body),
  healthReport: ({ peer }, { body }) => health(deps, peer.node_id, body),
  inventoryReport: ({ peer }, { body }) => record(deps, peer.node_id, body),
  logShip: ({ peer }, { body }) => ship(deps, peer, body),
  agentReleaseGet: async (_ctx, { params }) => {
    const release = await deps.releases.open(params.digest);
    if (release === undefined) throw notFound('agent release');
    return release;
  },
});
