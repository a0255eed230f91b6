import { readSshPublicKey } from '@gpuaas/contract';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { Refusal } from '../core/errors.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import type { SshKey } from '../core/rows.ts';

const view = ({ user_id: _, ...row }: SshKey) => row;

const mine = (ctx: MockCtx, id: string): SshKey => {
  const row = ctx.world.sshKeys.get(id);
  return must(row?.user_id === ctx.principal.id ? row : undefined, 'SSH key');
};

const parse = async (text: string) => {
  const read = readSshPublicKey(text);
  if (read.problem !== null)
    throw new Refusal('invalid_request', read.problem, {
      errors: [{ pointer: '/body/public_key', code: 'ssh_key', message: read.problem }],
    });
  const { algorithm, public_key } = read;
  const bytes = Uint8Array.from(atob(public_key.slice(algorithm.length + 1)), (letter) => letter.charCodeAt(0));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return {
    algorithm,
    public_key,
    fingerprint: `SHA256:${btoa(String.fromCharCode(...digest)).replace(/=+$/, '')}`,
  };
};

export const sshKey = {
  sshKeyList: async (ctx: MockCtx, { query }: Req<'sshKeyList'>) => {
    const rows = [...ctx.world.sshKeys.values()].filter((one) => one.user_id === ctx.principal.id);
    return pageOf(ctx, query, newestFirst(rows), idOf, view);
  },
  sshKeyCreate: async (ctx: MockCtx, { body }: Req<'sshKeyCreate'>) => {
    const { world, principal } = ctx;
    const key = await parse(body.public_key);
    const others = [...world.sshKeys.values()].filter((one) => one.user_id === principal.id);
    if (others.some((one) => one.name === body.name))
      throw new Refusal('already_exists', REFUSALS.ssh_key_name_taken(body.name));
    if (others.some((one) => one.fingerprint === key.fingerprint))
      throw new Refusal('already_exists', REFUSALS.ssh_key_added);
    const row: SshKey = {
      id: world.mint('ssh_key'),
      user_id: principal.id,
      name: body.name,
      ...key,
      last_used_at: null,
      created_at: world.ago(),
    };
    world.sshKeys.set(row.id, row);
    return view(row);
  },
  sshKeyGet: async (ctx: MockCtx, { params }: Req<'sshKeyGet'>) => view(mine(ctx, params.ssh_key_id)),
  sshKeyDelete: async (ctx: MockCtx, { params }: Req<'sshKeyDelete'>) => {
    ctx.world.sshKeys.delete(mine(ctx, params.ssh_key_id).id);
    return undefined;
  },
};
