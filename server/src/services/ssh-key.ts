import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import { isUniqueViolation } from '../db/errors.ts';
import * as db from '../db/ssh-key.ts';
import { listLaunchesWithKey } from '../db/statements/launch-key.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { parseSshPublicKey } from '../domain/ssh-public-key.ts';
import { AppError, notFound } from '../errors.ts';
import { revokeLostKeysOf } from '../identity/lost-access.ts';
import { principalOf } from '../pipeline/caller.ts';
import { assertBelowLimit } from '../pipeline/limit.ts';
import { listPage } from '../pipeline/page.ts';
import { revokeLostLaunchKey } from '../workflows/access-grant.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

export const list = (ctx: ReadCtx, { query }: Req<'sshKeyList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listSshKeys(reader, principalOf(ctx).id, page),
    (row) => row.id,
    (row) => row,
  );

export const create = async (ctx: WriteCtx, { body }: Req<'sshKeyCreate'>) => {
  const key = parseSshPublicKey(body.public_key);
  if (typeof key === 'string')
    throw new AppError('invalid_request', key, {
      errors: [{ pointer: '/body/public_key', code: 'ssh_key', message: key }],
    });
  await assertBelowLimit(ctx, 'ssh_keys', principalOf(ctx).id);
  try {
    const row = await db.insertSshKey(ctx.tx, {
      id: mintId('key'),
      user_id: principalOf(ctx).id,
      name: body.name,
      ...key,
    });
    if (row === undefined) throw new AppError('internal', 'The key was not added.');
    ctx.note({ fingerprint: key.fingerprint });
    return row;
  } catch (err) {
    if (isUniqueViolation(err, 'ssh_keys_user_id_name_key'))
      throw new AppError('already_exists', REFUSALS.ssh_key_name_taken(body.name));
    if (isUniqueViolation(err, 'ssh_keys_user_id_fingerprint_key'))
      throw new AppError('already_exists', REFUSALS.ssh_key_added);
    throw err;
  }
};

export const get = (ctx: ReadCtx, { params }: Req<'sshKeyGet'>) =>
  ctx.read(async (reader) => {
    const row = await db.findSshKey(reader, principalOf(ctx).id, params.ssh_key_id);
    if (row === undefined) throw notFound('SSH key');
    return row;
  });

/**
 * Removes the key from the VMs that had it at launch, before it is deleted: a deleted key cannot be found afterwards.
 * The VMs belong to their organizations, which the owner of a key cannot change, so this part of the transaction runs
 * in the platform scope.
 */
const revokeLaunches = async (ctx: WriteCtx, key: Readonly<{ user_id: string; ssh_key_id: string }>): Promise<void> => {
  const { tx, correlation_id } = ctx;
  tx.enter({ tenant_id: '*', principal_id: key.user_id });
  for (const use of await listLaunchesWithKey(tx, key)) await revokeLostLaunchKey(tx, { ...use, correlation_id });
  tx.enter({ tenant_id: '', principal_id: key.user_id });
};

export const remove = async (ctx: WriteCtx, { params: { ssh_key_id } }: Req<'sshKeyDelete'>): Promise<undefined> => {
  const user_id = principalOf(ctx).id;
  if ((await db.findSshKey(ctx.tx, user_id, ssh_key_id)) === undefined) throw notFound('SSH key');
  await revokeLaunches(ctx, { user_id, ssh_key_id });
  if (!(await db.deleteSshKey(ctx.tx, user_id, ssh_key_id))) throw notFound('SSH key');
  await revokeLostKeysOf(ctx, user_id);
};
