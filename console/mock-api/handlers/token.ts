/** Tokens of users and of service accounts: shown once, identified by their first characters. */
import { freshSignInScopeRefusal } from '../../../server/src/domain/fresh-sign-in.ts';
import { signedIn } from '../core/authorize.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { Refusal } from '../core/errors.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { Token } from '../core/rows.ts';

const view = ({ owner_id: _, ...row }: Token) => row;

type NewToken = Readonly<{
  owner: 'user' | 'service_account';
  owner_id: string;
  project_id: string | null;
  body: Req<'serviceAccountTokenCreate'>['body'];
}>;

export const createToken = ({ world, principal }: MockCtx, { owner, owner_id, project_id, body }: NewToken) => {
  const refusal = freshSignInScopeRefusal(body.scopes, signedIn(principal), owner, body.expires_in_s);
  if (refusal !== null) throw new Refusal('permission_denied', refusal);
  const id = world.mint('api_token');
  const token = `gpu_${digestOf(id, 40)}`;
  const row: Token = {
    id,
    owner_id,
    name: body.name,
    token_prefix: token.slice(0, 10),
    scopes: [...body.scopes],
    project_id,
    expires_at: world.ago(-body.expires_in_s * 1000),
    last_used_at: null,
    revoked_at: null,
    created_at: world.ago(),
  };
  world.tokens.push(row);
  return { api_token: view(row), token };
};

export const listTokens = (ctx: MockCtx, ownerId: string, query: Req<'apiTokenList'>['query']) =>
  pageOf(ctx, query, newestFirst(ctx.world.tokens.filter((one) => one.owner_id === ownerId)), idOf, view);

export const revokeToken = ({ world }: MockCtx, ownerId: string, tokenId: string): undefined => {
  const row = must(
    world.tokens.find((one) => one.id === tokenId && one.owner_id === ownerId),
    'token',
  );
  row.revoked_at ??= world.ago();
  return undefined;
};

export const token = {
  apiTokenList: async (ctx: MockCtx, { query }: Req<'apiTokenList'>) => listTokens(ctx, ctx.principal.id, query),
  apiTokenCreate: async (ctx: MockCtx, { body }: Req<'apiTokenCreate'>) => {
    const named = body.project_id === undefined ? undefined : ctx.world.projects.get(body.project_id);
    const isSeen = named !== undefined && ctx.holds('project.read', named.organization_id, named.id);
    const project = body.project_id === undefined ? undefined : must(isSeen ? named : undefined, 'project');
    const made = createToken(ctx, {
      owner: 'user',
      owner_id: ctx.principal.id,
      project_id: project?.id ?? null,
      body,
    });
    ctx.target('api_token', made.api_token.id);
    return made;
  },
  apiTokenRevoke: async (ctx: MockCtx, { params }: Req<'apiTokenRevoke'>) =>
    revokeToken(ctx, ctx.principal.id, params.token_id),
};
