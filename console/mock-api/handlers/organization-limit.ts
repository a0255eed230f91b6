import { type CountedLimit, LIMIT_NAMES, LIMITS } from '@gpuaas/contract';
import { type MockCtx, organizationOf } from '../core/context.ts';

const isValid = (
  ctx: MockCtx,
  { revoked_at, expires_at }: Readonly<{ revoked_at: string | null; expires_at: string }>,
) => revoked_at === null && Date.parse(expires_at) > ctx.world.now();

const usedOf = (ctx: MockCtx): Readonly<Record<CountedLimit, number>> => {
  const { world, principal } = ctx;
  const organizationId = organizationOf(ctx);
  const projects = [...world.projects.values()].filter((one) => one.organization_id === organizationId);
  const isHere = ({ project_id }: Readonly<{ project_id: string }>) => projects.some(({ id }) => id === project_id);
  const accounts = [...world.serviceAccounts.values()].filter(isHere);
  const tokens = world.tokens.filter((one) => isValid(ctx, one));
  const sessions = [...world.sessions.values()].filter(isHere);
  return {
    sessions: sessions.filter(({ state }) => state !== 'closed').length,
    recordings: sessions.filter(({ is_recorded }) => is_recorded).length,
    projects: projects.length,
    service_accounts: accounts.length,
    service_account_tokens: tokens.filter(({ owner_id }) => accounts.some(({ id }) => id === owner_id)).length,
    invitations: world.invitations.filter((one) => one.organization_id === organizationId && one.state === 'pending')
      .length,
    // The mock does not store who created an organization; its owner is the best guess.
    organizations: world.members.filter(
      (one) =>
        one.user_id === principal.id &&
        one.role === 'owner' &&
        world.organizations.get(one.organization_id)?.kind === 'enterprise',
    ).length,
    personal_tokens: tokens.filter(({ owner_id }) => owner_id === principal.id).length,
    ssh_keys: [...world.sshKeys.values()].filter(({ user_id }) => user_id === principal.id).length,
  };
};

export const organizationLimit = {
  organizationLimitList: async (ctx: MockCtx) => {
    const used: Readonly<Partial<Record<string, number>>> = usedOf(ctx);
    return {
      items: LIMIT_NAMES.map((name) => {
        const { per, unit, counts, default: max } = LIMITS[name];
        return { name, per, unit, counts, max, used: used[name] ?? null };
      }),
    };
  },
};
