import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { invalidField, Refusal } from '../core/errors.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import type { SshKey } from '../core/rows.ts';

const ALGORITHMS = [
  'ssh-ed25519',
  'ssh-rsa',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
];

const view = ({ user_id: _, ...row }: SshKey) => row;

const mine = (ctx: MockCtx, id: string): SshKey => {
  const row = ctx.world.sshKeys.get(id);
  return must(row?.user_id === ctx.principal.id ? row : undefined, 'SSH key');
};

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    throw invalidField('public_key', 'is not an OpenSSH public key', 'malformed');
  }
};

const parse = async (line: string) => {
  const words = line.trim().split(/\s+/);
  const start = words.findIndex((word) => ALGORITHMS.includes(word));
  const [algorithm = '', blob = ''] = words.slice(start, start + 2);
  if (start === -1) throw invalidField('public_key', 'is not a supported public key', 'malformed');
  const bytes = bytesOf(blob);
  if (algorithm === 'ssh-rsa' && bytes.length < 400)
    throw invalidField('public_key', 'is an RSA key of fewer than 3072 bits', 'too_weak');
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return {
    algorithm,
    public_key: `${algorithm} ${blob}`,
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
