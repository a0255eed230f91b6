/** The access policy of an organization for connections to its VMs. */
import Type from 'typebox';
import { Closed, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';

export const SESSION_IDLE_MIN_S = 60;
export const SESSION_IDLE_MAX_S = 1_800;
export const SESSION_LENGTH_MIN_S = 300;
export const SESSION_LENGTH_MAX_S = 86_400;
export const RECORDING_DAYS_MAX = 365;

const settings = {
  session_idle_s: Type.Integer({
    minimum: SESSION_IDLE_MIN_S,
    maximum: SESSION_IDLE_MAX_S,
    description: 'A session without traffic in either direction ends after this time.',
  }),
  session_max_s: Type.Integer({
    minimum: SESSION_LENGTH_MIN_S,
    maximum: SESSION_LENGTH_MAX_S,
    description: 'A session ends after this time at the latest.',
  }),
  ends_with_sign_in: Type.Boolean({
    description:
      'Sessions end when the sign-in that opened them expires. Tokens that expire or are revoked always end theirs.',
  }),
  records_terminals: Type.Boolean({
    description: 'Terminal output is recorded. The user is informed when a terminal opens.',
  }),
  requires_recording: Type.Boolean({
    description:
      'Sessions that cannot be recorded are refused: SSH, forwarded ports and serial consoles. Terminals are recorded. ' +
      'Open sessions without recording end.',
  }),
  recording_days: Type.Integer({
    minimum: 1,
    maximum: RECORDING_DAYS_MAX,
    description: 'How long recordings are kept.',
  }),
  allows_service_accounts: Type.Boolean({
    description: 'Whether service accounts may open sessions. They have no SSH keys, so they cannot have grants.',
  }),
};

export const AccessPolicy = Closed({
  organization_id: Id('organization'),
  ...settings,
  version: Type.Integer(),
  updated_at: Time('When it was last changed.'),
});

const params = Closed({ organization_id: Id('organization') });
const path = '/api/v1/organizations/{organization_id}/access-policy';
const tag = 'Access';

export const accessPolicyApi = define({
  accessPolicyGet: {
    method: 'GET',
    path,
    tag,
    summary: 'Get the access policy of the organization',
    access: 'tenant',
    permission: 'organization.read',
    audit: null,
    idempotency: 'none',
    params,
    status: 200,
    response: AccessPolicy,
  },
  accessPolicyUpdate: {
    method: 'PATCH',
    path,
    tag,
    summary: 'Change the access policy of the organization',
    description:
      'Shorter limits and `requires_recording` also apply to open sessions. Whether a terminal is recorded is decided when it opens.',
    access: 'tenant',
    permission: 'organization.update',
    audit: 'access_policy.update',
    idempotency: 'none',
    ifMatch: true,
    params,
    body: Type.Partial(Closed(settings), { additionalProperties: false, minProperties: 1 }),
    status: 200,
    response: AccessPolicy,
  },
});
