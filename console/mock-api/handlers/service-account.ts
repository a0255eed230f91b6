import { ROLES, scopeAllows } from '@gpuaas/contract';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { assertVersion, type MockCtx, must, projectOf, type Req } from '../core/context.ts';
import { conflict, invalidField, Refusal } from '../core/errors.ts';
import { idOf, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { ServiceAccount } from '../core/rows.ts';
import { createToken, listTokens, revokeToken } from './token.ts';

const view = ({ secret: _, previous: __, ...row }: ServiceAccount) => row;

const get = (ctx: MockCtx, id: string): ServiceAccount => {
  const row = ctx.world.serviceAccounts.get(id);
  return must(row?.project_id === projectOf(ctx) ? row : undefined, 'service account');
};

const told = (row: ServiceAccount) => ({ service_account_id: row.id, name: row.name });

export const serviceAccount = {
  serviceAccountList: async (ctx: MockCtx, { query }: Req<'serviceAccountList'>) => {
    const rows = [...ctx.world.serviceAccounts.values()].filter((one) => one.project_id === projectOf(ctx));
    return pageOf(ctx, query, rows, idOf, view);
  },
  serviceAccountCreate: async (ctx: MockCtx, { body }: Req<'serviceAccountCreate'>) => {
    const { world } = ctx;
    const project_id = projectOf(ctx);
    if ([...world.serviceAccounts.values()].some((one) => one.project_id === project_id && one.name === body.name))
      throw new Refusal('already_exists', REFUSALS.service_account_name_taken(body.name));
    const id = world.mint('service_account');
    const row: ServiceAccount = {
      id,
      project_id,
      name: body.name,
      description: body.description ?? null,
      state: 'enabled',
      secret_rotated_at: world.ago(),
      last_used_at: null,
      version: 1,
      created_at: world.ago(),
      secret: `sec_${digestOf(id, 40)}`,
    };
    world.serviceAccounts.set(id, row);
    ctx.emit('service_account.created', { subject: id, data: told(row) });
    ctx.target('service_account', id);
    return { service_account: view(row), client_secret: row.secret };
  },
  serviceAccountGet: async (ctx: MockCtx, { params }: Req<'serviceAccountGet'>) =>
    view(get(ctx, params.service_account_id)),
  serviceAccountUpdate: async (ctx: MockCtx, { params, body, if_match }: Req<'serviceAccountUpdate'>) => {
    const row = get(ctx, params.service_account_id);
    assertVersion(row, if_match);
    Object.assign(row, body);
    row.version += 1;
    ctx.emit('service_account.updated', { subject: row.id, data: { ...told(row), state: row.state } });
    return view(row);
  },
  serviceAccountDelete: async (ctx: MockCtx, { params }: Req<'serviceAccountDelete'>) => {
    const { world } = ctx;
    const row = get(ctx, params.service_account_id);
    world.serviceAccounts.delete(row.id);
    for (const one of world.tokens) if (one.owner_id === row.id) one.revoked_at ??= world.ago();
    ctx.emit('service_account.deleted', { subject: row.id, data: told(row) });
    return undefined;
  },
  serviceAccountSecretRotate: async (ctx: MockCtx, { params, body }: Req<'serviceAccountSecretRotate'>) => {
    const row = get(ctx, params.service_account_id);
    row.previous = { secret: row.secret, until_ms: ctx.world.now() + (body.overlap_s ?? 0) * 1000 };
    row.secret = `sec_${digestOf(`${row.id} ${row.version}`, 40)}`;
    row.secret_rotated_at = ctx.world.ago();
    row.version += 1;
    ctx.emit('service_account.updated', { subject: row.id, data: { ...told(row), state: row.state } });
    return { service_account: view(row), client_secret: row.secret };
  },
  serviceAccountTokenList: async (ctx: MockCtx, { params, query }: Req<'serviceAccountTokenList'>) =>
    listTokens(ctx, get(ctx, params.service_account_id).id, query),
  serviceAccountTokenCreate: async (ctx: MockCtx, { params, body }: Req<'serviceAccountTokenCreate'>) => {
    const row = get(ctx, params.service_account_id);
    if (row.state === 'disabled') throw conflict(REFUSALS.service_account_disabled);
    const made = createToken(ctx, { owner: 'service_account', owner_id: row.id, project_id: row.project_id, body });
    ctx.target('api_token', made.api_token.id);
    return made;
  },
  serviceAccountTokenRevoke: async (ctx: MockCtx, { params }: Req<'serviceAccountTokenRevoke'>) =>
    revokeToken(ctx, get(ctx, params.service_account_id).id, params.token_id),
  serviceAccountTokenIssue: async (ctx: MockCtx, { body }: Req<'serviceAccountTokenIssue'>) => {
    const row = ctx.world.serviceAccounts.get(body.client_id);
    const accepted = [
      row?.secret,
      (row?.previous?.until_ms ?? 0) > ctx.world.now() ? row?.previous?.secret : undefined,
    ];
    if (row === undefined || !accepted.includes(body.client_secret) || row.state === 'disabled')
      throw new Refusal('unauthenticated', REFUSALS.wrong_client_secret);
    const scopes = (body.scope ?? 'all').split(' ').filter(Boolean);
    if (scopes.length > 0 && !ROLES.service_account.some((permission) => scopeAllows(scopes, permission)))
      throw invalidField(
        'scope',
        'includes no permission of service accounts',
        'unknown_scope',
        REFUSALS.no_service_account_scope,
      );
    row.last_used_at = ctx.world.ago();
    ctx.target('service_account', row.id);
    return {
      access_token: `gpu_${digestOf(ctx.correlation_id, 40)}`,
      token_type: 'Bearer' as const,
      expires_in: 3_600,
      scope: scopes.length === 0 ? 'all' : scopes.join(' '),
    };
  },
};
