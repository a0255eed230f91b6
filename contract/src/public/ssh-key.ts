import Type from 'typebox';
import { Closed, Name, Nullable, Page, PageQuery, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';

export const SshKey = Closed({
  id: Id('ssh_key'),
  name: Name('Unique among the caller’s keys.'),
  algorithm: Type.String({ examples: ['ssh-ed25519'] }),
  public_key: Type.String({ description: 'Without its comment.' }),
  fingerprint: Type.String({ description: 'SHA256:… as ssh-keygen -l prints it.' }),
  last_used_at: Nullable(Time('When it was last installed on a VM.')),
  created_at: Time('When it was added.'),
});

const params = Closed({ ssh_key_id: Id('ssh_key') });
const tag = 'SSH keys';

export const sshKeyApi = define({
  sshKeyList: {
    method: 'GET',
    path: '/api/v1/ssh-keys',
    tag,
    summary: "List the caller's SSH keys",
    access: 'self',
    permission: 'self.ssh_key.read',
    audit: null,
    idempotency: 'none',
    query: Closed({ ...PageQuery }),
    status: 200,
    response: Page(SshKey),
  },
  sshKeyCreate: {
    method: 'POST',
    path: '/api/v1/ssh-keys',
    tag,
    summary: 'Add a public key',
    description: 'Ed25519, ECDSA, RSA of at least 3072 bits and their FIDO forms. Options and comments are not kept.',
    access: 'self',
    permission: 'self.ssh_key.create',
    audit: 'ssh_key.create',
    idempotency: 'required',
    body: Closed({
      name: Name(),
      public_key: Type.String({
        minLength: 40,
        maxLength: 8192,
        pattern: '^[\\x20-\\x7e]+$',
        description: 'One line in OpenSSH form.',
        examples: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea'],
      }),
    }),
    status: 201,
    response: SshKey,
    location: '/api/v1/ssh-keys/{id}',
    errors: ['already_exists', 'limit_exceeded'],
  },
  sshKeyGet: {
    method: 'GET',
    path: '/api/v1/ssh-keys/{ssh_key_id}',
    tag,
    summary: 'Get an SSH key',
    access: 'self',
    permission: 'self.ssh_key.read',
    audit: null,
    idempotency: 'none',
    params,
    status: 200,
    response: SshKey,
  },
  sshKeyDelete: {
    method: 'DELETE',
    path: '/api/v1/ssh-keys/{ssh_key_id}',
    tag,
    summary: 'Remove a key',
    access: 'self',
    permission: 'self.ssh_key.delete',
    audit: 'ssh_key.delete',
    idempotency: 'none',
    params,
    status: 204,
    response: null,
  },
});
