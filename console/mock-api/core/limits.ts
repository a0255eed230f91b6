/**
 * Limits of organizations and users. Before a request reaches its handler, the limits that its operation adds to are
 * counted: a full one refuses it by the rule and in the words of the server.
 */
import { type CountedLimit, fullRefusal, LIMITS, limitsOf } from '@gpuaas/contract';
import { isRecorded } from '../../../server/src/domain/session.ts';
import { type MockCtx, organizationOf, type Req } from './context.ts';
import { Refusal } from './errors.ts';

const isLater = (ctx: MockCtx, time: string): boolean => Date.parse(time) > ctx.world.now();

const projectIds = (ctx: MockCtx): ReadonlySet<string> => {
  const organizationId = organizationOf(ctx);
  const projects = [...ctx.world.projects.values()].filter((one) => one.organization_id === organizationId);
  return new Set(projects.map(({ id }) => id));
};

const accountsOf = (ctx: MockCtx) => {
  const ids = projectIds(ctx);
  return [...ctx.world.serviceAccounts.values()].filter(({ project_id }) => ids.has(project_id));
};

const sessionsOf = (ctx: MockCtx) => {
  const ids = projectIds(ctx);
  return [...ctx.world.sessions.values()].filter(({ project_id }) => ids.has(project_id));
};

const tokensOf = (ctx: MockCtx, owners: readonly string[]): number =>
  ctx.world.tokens.filter(
    (one) => owners.includes(one.owner_id) && one.revoked_at === null && isLater(ctx, one.expires_at),
  ).length;

const USED: Readonly<Record<CountedLimit, (ctx: MockCtx) => number>> = {
  sessions: (ctx) =>
    sessionsOf(ctx).filter(
      ({ state, ticket_expires_at }) =>
        state !== 'closed' && (state !== 'ticketed' || ticket_expires_at > ctx.world.now()),
    ).length,
  recordings: (ctx) => sessionsOf(ctx).filter(({ is_recorded }) => is_recorded).length,
  projects: (ctx) => projectIds(ctx).size,
  service_accounts: (ctx) => accountsOf(ctx).length,
  service_account_tokens: (ctx) =>
    tokensOf(
      ctx,
      accountsOf(ctx).map(({ id }) => id),
    ),
  members: (ctx) => {
    const organizationId = organizationOf(ctx);
    return ctx.world.members.filter((one) => one.organization_id === organizationId).length;
  },
  invitations: (ctx) => {
    const organizationId = organizationOf(ctx);
    return ctx.world.invitations.filter(
      (one) => one.organization_id === organizationId && one.state === 'pending' && isLater(ctx, one.expires_at),
    ).length;
  },
  quota_requests: (ctx) => {
    const organizationId = organizationOf(ctx);
    const dayAgo = ctx.world.now() - 24 * 3_600_000;
    return ctx.world.quotaRequests.filter(
      (one) => one.organization_id === organizationId && (one.state === 'open' || Date.parse(one.created_at) > dayAgo),
    ).length;
  },
  // The mock does not store who created an organization; its owner is the best guess.
  organizations: ({ world, principal }) =>
    world.members.filter(
      (one) =>
        one.user_id === principal.id &&
        one.role === 'owner' &&
        world.organizations.get(one.organization_id)?.kind === 'enterprise',
    ).length,
  personal_tokens: (ctx) => tokensOf(ctx, [ctx.principal.id]),
  ssh_keys: ({ world, principal }) =>
    [...world.sshKeys.values()].filter(({ user_id }) => user_id === principal.id).length,
};

export const usedOf = (ctx: MockCtx, limit: CountedLimit): number => USED[limit](ctx);

/** Only terminals that a policy records add a recording. */
const addsRecording = ({ world }: MockCtx, { params, body }: Req<'terminalTicketCreate'>): boolean => {
  const row = world.allocations.get(params.allocation_id);
  const organization = world.policies.get(row?.organization_id ?? '');
  const project = world.projects.get(row?.project_id ?? '');
  return organization !== undefined && project !== undefined && isRecorded({ organization, project }, body.kind);
};

const assertNotFull = (ctx: MockCtx, limit: CountedLimit): void => {
  const refusal = fullRefusal(limit, usedOf(ctx, limit), ctx.world.limits[limit]);
  if (refusal !== null) throw new Refusal('limit_exceeded', refusal);
};

/** Of an organization that only the handler knows. */
export const assertBelowLimit = (ctx: MockCtx, limit: CountedLimit, organization_id: string): void =>
  assertNotFull({ ...ctx, organization_id }, limit);

export const assertBelowLimits = (ctx: MockCtx, req: unknown): void => {
  for (const limit of limitsOf(ctx.operation)) {
    // Client credentials and invitations name their organization only in the handler.
    if (LIMITS[limit].per === 'organization' && ctx.organization_id === null) continue;
    if (limit === 'recordings' && !addsRecording(ctx, req as Req<'terminalTicketCreate'>)) continue;
    assertNotFull(ctx, limit);
  }
};
