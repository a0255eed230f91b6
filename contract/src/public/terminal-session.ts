/**
 * Sessions: a tenant's connections to its allocations. A ticket is requested here, is valid once and for half a minute,
 * and is presented to the gateway, which carries the bytes. The user, the kind and the reason for the end of each
 * session stay readable.
 */
import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { SESSION_END_REASONS, SESSION_KINDS, TerminalSize } from '../stream.ts';

export const SESSION_STATES = ['ticketed', 'opening', 'open', 'closed'] as const;

export const TerminalSession = Closed({
  id: Id('terminal_session'),
  allocation_id: Id('allocation'),
  kind: StringEnum(SESSION_KINDS),
  port: Nullable(Type.Integer({ description: 'Port of a forward; null for other kinds.' })),
  state: StringEnum(SESSION_STATES),
  is_writable: Type.Boolean({ description: 'False for read-only access to the console.' }),
  is_recorded: Type.Boolean(),
  principal_id: Type.String({ description: 'User or service account that opened it.' }),
  principal_name: Type.String(),
  source_ip: Nullable(Type.String({ description: 'Source address of the client.' })),
  bytes_in: Type.Integer({ description: 'From client to VM.' }),
  bytes_out: Type.Integer({ description: 'From VM to client.' }),
  created_at: Time('When the ticket was issued.'),
  opened_at: Nullable(Time('When both ends were connected.')),
  closed_at: Nullable(Time('When it ended.')),
  expires_at: Time('When it expires.'),
  end_reason: Nullable(StringEnum(SESSION_END_REASONS)),
  end_message: Nullable(Type.String()),
  correlation_id: Type.String(),
});

export const TerminalTicket = Closed({
  session_id: Id('terminal_session'),
  ticket: Type.String({ description: 'Single use. Send it as a WebSocket subprotocol, never in a URL.' }),
  url: Type.String({ description: 'URL of the gateway.', examples: ['wss://gateway.example.com/v1/stream'] }),
  expires_at: Time('When the ticket expires.'),
  kind: StringEnum(SESSION_KINDS),
  is_writable: Type.Boolean(),
  notice: Nullable(Type.String({ description: 'Text to show before the session, for example that it is recorded.' })),
});

/** One line of an asciicast: its header first, then `[seconds, kind, text]`. */
export const RecordingLine = Type.Union([
  Type.Object(
    { version: Type.Literal(2), width: Type.Integer(), height: Type.Integer() },
    { additionalProperties: true },
  ),
  Type.Array(Type.Union([Type.Number(), Type.String()]), { minItems: 3, maxItems: 3 }),
]);

const params = Closed({ project_id: Id('project'), allocation_id: Id('allocation') });
const sessionParams = Closed({ ...params.properties, session_id: Id('terminal_session') });
const base = '/api/v1/projects/{project_id}/allocations/{allocation_id}';
const tag = 'Sessions';

const read = { method: 'GET', tag, access: 'project', audit: null, idempotency: 'none', status: 200 } as const;

export const terminalSessionApi = define({
  terminalTicketCreate: {
    method: 'POST',
    path: `${base}/terminal-ticket`,
    tag,
    summary: 'Create a single-use ticket for a session with an allocation',
    description:
      'Valid once, for 30 seconds, for this caller, allocation and kind. A terminal needs no SSH key. Viewers get the ' +
      'console read-only. Service accounts need the permission of the access policy of the organization. ' +
      'Terminals, SSH and forwards need a running VM; the serial console of a slice is available while it is provisioned, ' +
      'and bare metal has none. An allocation has at most 256 open sessions. ' +
      'Each request creates a new ticket, so no Idempotency-Key is needed.',
    access: 'project',
    permission: 'allocation.session.create',
    audit: 'allocation.session.ticket',
    idempotency: 'none',
    secret: true,
    params,
    body: Closed({
      kind: StringEnum(SESSION_KINDS),
      port: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 65_535, description: 'Port of the VM; only for a forward.' }),
      ),
      cols: Type.Optional(TerminalSize.cols),
      rows: Type.Optional(TerminalSize.rows),
    }),
    status: 201,
    response: TerminalTicket,
    errors: ['conflict', 'limit_exceeded', 'policy_denied'],
  },
  terminalSessionList: {
    ...read,
    path: `${base}/sessions`,
    summary: 'List sessions of an allocation, newest first',
    description: 'Kept for 90 days, or as long as its recording. Unused tickets are not listed.',
    permission: 'allocation.read',
    params,
    query: Closed({ ...PageQuery }),
    response: Page(TerminalSession),
  },
  terminalSessionGet: {
    ...read,
    path: `${base}/sessions/{session_id}`,
    summary: 'Get a session',
    permission: 'allocation.read',
    params: sessionParams,
    response: TerminalSession,
  },
  terminalSessionClose: {
    method: 'DELETE',
    path: `${base}/sessions/{session_id}`,
    tag,
    summary: 'End a session',
    description:
      'Allowed for the owner of the session and for project admins. A session ends within seconds, a ticket immediately.',
    access: 'project',
    permission: 'allocation.session.create',
    audit: 'allocation.session.end',
    idempotency: 'none',
    params: sessionParams,
    status: 204,
    response: null,
  },
  terminalRecordingGet: {
    ...read,
    path: `${base}/sessions/{session_id}/recording`,
    summary: 'Get the recording of a terminal, as an asciicast',
    description: 'Kept as long as the access policy of the organization states. It contains output only, not input.',
    permission: 'allocation.recording.read',
    params: sessionParams,
    response: RecordingLine,
    stream: 'application/jsonl',
  },
});
