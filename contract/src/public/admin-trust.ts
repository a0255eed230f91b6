import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

const operatorRead = operatorReads('Nodes');
const operatorChange = operatorChanges('Nodes');

export const TRUST_KEY_STATES = ['requested', 'staged', 'active', 'grace', 'retired', 'revoked'] as const;
export const TRUST_PURPOSES = ['node_ca', 'task_signer', 'certificate_signer'] as const;

const keyFields = {
  id: Id('trust_key'),
  purpose: StringEnum(TRUST_PURPOSES),
  state: StringEnum(TRUST_KEY_STATES),
  state_since: Time('When this state began.'),
  fingerprint_sha256: Nullable(Type.String({ description: 'Null until a process with the right key has created it.' })),
  retires_at: Nullable(Time('When it stops being trusted.')),
  version: Type.Integer(),
  created_at: Time('When it was created.'),
};
const TrustKey = Closed(keyFields);

const key = Closed({ trust_key_id: Id('trust_key') });
const move = {
  ...operatorChange,
  permission: 'admin.trust.update',
  params: key,
  ifMatch: true,
  body: Closed({ reason: Reason }),
  status: 200,
  response: TrustKey,
  errors: ['conflict'],
} as const;

export const adminTrustApi = define({
  adminTrustKeyList: {
    ...operatorRead,
    path: '/api/v1/admin/trust-keys',
    summary: 'List keys that sign node certificates, tasks and wipe certificates, newest first',
    permission: 'admin.trust.read',
    query: Closed({ ...PageQuery, purpose: Type.Optional(StringEnum(TRUST_PURPOSES)) }),
    response: Page(TrustKey),
  },
  adminTrustKeyGet: {
    ...operatorRead,
    path: '/api/v1/admin/trust-keys/{trust_key_id}',
    summary: 'Get a trust key',
    permission: 'admin.trust.read',
    params: key,
    response: TrustKey,
  },
  adminTrustKeyCreate: {
    ...operatorChange,
    path: '/api/v1/admin/trust-keys',
    summary: 'Stage a new key, which agents trust before it signs',
    description:
      'The key is `requested` until a process that holds the key for its purpose has created it, and then `staged`.',
    permission: 'admin.trust.update',
    audit: 'trust_key.create',
    freshSignIn: true,
    body: Closed({ purpose: StringEnum(TRUST_PURPOSES), reason: Reason }),
    status: 201,
    response: TrustKey,
    location: '/api/v1/admin/trust-keys/{id}',
    errors: ['conflict'],
  },
  adminTrustKeyActivate: {
    ...move,
    path: '/api/v1/admin/trust-keys/{trust_key_id}/activate',
    summary: 'Activate a staged key; the previous key stays trusted during its grace period',
    audit: 'trust_key.activate',
    freshSignIn: true,
    response: Closed({
      ...keyFields,
      nodes_without_key: Type.Integer({
        description:
          'Nodes whose agents have not confirmed the key. They reconnect automatically until the grace period of the previous key ends.',
      }),
    }),
  },
  adminTrustKeyRetire: {
    ...move,
    path: '/api/v1/admin/trust-keys/{trust_key_id}/retire',
    summary: 'Retire a key that is staged or in its grace period',
    audit: 'trust_key.retire',
    freshSignIn: true,
  },
  adminTrustKeyRevoke: {
    ...move,
    path: '/api/v1/admin/trust-keys/{trust_key_id}/revoke',
    summary: 'Revoke a key immediately; refused for the active key',
    audit: 'trust_key.revoke',
    freshSignIn: true,
  },
});
