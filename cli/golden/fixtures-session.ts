/** Sessions, grants and the access policy, as the API returns them. */
import type { AccessGrant, AccessPolicy, Operations, TerminalSession } from '@gpuaas/sdk';
import { placementIds } from './fixtures-allocation.ts';

const id = (prefix: string, last: string): string => `${prefix}_01k9zv3m8q4t6w2x5y7r0s1n${last.padStart(2, '0')}`;
const time = '2026-11-15T10:03:21.000Z';
const page = <T>(...items: T[]) => ({ items, next_cursor: null });

export const sessionIds = { session: id('ses', '1a'), grant: id('grt', '1a') };

export const session: TerminalSession = {
  id: sessionIds.session,
  allocation_id: placementIds.allocation,
  kind: 'terminal',
  port: null,
  state: 'open',
  is_writable: true,
  is_recorded: true,
  principal_id: id('usr', '1a'),
  principal_name: 'Ada Lovelace',
  source_ip: '192.0.2.10',
  bytes_in: 120,
  bytes_out: 48_211,
  created_at: time,
  opened_at: '2026-11-15T10:03:22.000Z',
  closed_at: null,
  expires_at: '2026-11-15T22:03:21.000Z',
  end_reason: null,
  end_message: null,
  correlation_id: 'corr-3',
};
const ended: TerminalSession = {
  ...session,
  id: id('ses', '2b'),
  kind: 'forward',
  port: 8888,
  state: 'closed',
  is_recorded: false,
  closed_at: '2026-11-15T10:09:00.000Z',
  end_reason: 'idle',
  end_message: 'The session was idle for 30 minutes. Open a new one to continue.',
};
const grant: AccessGrant = {
  id: sessionIds.grant,
  allocation_id: placementIds.allocation,
  user_id: id('usr', '2b'),
  user_name: 'Grace Hopper',
  ssh_key_id: id('key', '1a'),
  fingerprint: 'SHA256:0bXq1f0p3mWc5mZ1M0YJm3mB1bq5C5v0Y1a9m2k3l4s',
  state: 'installed',
  state_reason: null,
  granted_by: id('usr', '1a'),
  correlation_id: 'corr-4',
  created_at: time,
  installed_at: '2026-11-15T10:03:24.000Z',
  revoked_at: null,
};
const policy: AccessPolicy = {
  organization_id: id('org', '1a'),
  session_idle_s: 1800,
  session_max_s: 43_200,
  ends_with_sign_in: true,
  records_terminals: false,
  requires_recording: false,
  recording_days: 30,
  allows_service_accounts: false,
  version: 2,
  updated_at: time,
};

/** A gateway that does not exist: outside the ephemeral port range. */
const ticket: Operations['terminalTicketCreate']['response'] = {
  session_id: sessionIds.session,
  ticket: 'ticket-1',
  url: 'ws://127.0.0.1:61998/v1/stream',
  expires_at: time,
  kind: 'terminal',
  is_writable: true,
  notice: null,
};

export const recorded: readonly Operations['terminalRecordingGet']['response'][] = [
  { version: 2, width: 80, height: 24 },
  [0.1, 'o', '$ \u001b[31mls\u001b[0m\u009b2J\r\n'],
];

export const sessionAnswers = {
  terminalTicketCreate: ticket,
  terminalSessionList: page(session, ended),
  terminalSessionGet: session,
  terminalSessionClose: undefined,
  accessGrantList: page(grant, { ...grant, id: id('grt', '2b'), state: 'failed', state_reason: 'The guest is off.' }),
  accessGrantCreate: { ...grant, state: 'pending', installed_at: null },
  accessGrantRevoke: { ...grant, state: 'revoking' },
  accessPolicyGet: policy,
  accessPolicyUpdate: { ...policy, records_terminals: true, version: 3 },
} as const satisfies Partial<{ [K in keyof Operations]: Operations[K]['response'] }>;
