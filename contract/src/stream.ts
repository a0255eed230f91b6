/**
 * The bytes of a session between a client and a host, through the gateway. Each leg is one WebSocket: a binary message is
 * bytes of the session, a text message is one of the words below as JSON. The gateway passes both on and adds its own.
 *
 * Neither end sends more bytes than the other has room for: at most `STREAM_WINDOW_BYTES` that were not acknowledged, in
 * each direction. A slow reader therefore slows the program in the guest OS down, and nothing between them buffers unread data.
 */
import Type, { type Static } from 'typebox';
import { Closed, Nullable, StringEnum, Time } from './common.ts';
import { Id } from './ids.ts';

/** The subprotocol that both legs speak. */
export const STREAM_PROTOCOL = 'gpuaas.stream.v1';
/** A client offers its ticket as a second subprotocol with this prefix: it stands in no URL and in no log. */
export const TICKET_PROTOCOL_PREFIX = 'gpuaas.ticket.';
/** Where clients connect at the gateway. */
export const STREAM_PATH = '/v1/stream';
/** Where agents connect at the gateway's own listener. */
export const AGENT_STREAM_PATH = '/internal/v1/nodes/{node_id}/streams/{session_id}';

export const STREAM_WINDOW_BYTES = 1024 * 1024;
/** What was read is acknowledged in parts of about this size. */
export const STREAM_ACK_BYTES = 256 * 1024;
export const STREAM_MESSAGE_BYTES_MAX = 64 * 1024;

/**
 * `terminal`: a shell in the guest, or on the node, as its account. `console`: the serial line. `ssh`: the SSH port as it is.
 * `forward`: any other TCP port of the guest.
 */
export const SESSION_KINDS = ['terminal', 'console', 'ssh', 'forward'] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

/** Why a session is over, in stable words; each comes with a sentence for people. */
export const SESSION_END_REASONS = [
  /** The program, or the other end of the connection, ended. */
  'ended',
  /** The client went away. */
  'client_disconnected',
  /** The host's leg went away: its agent or network. */
  'agent_disconnected',
  /** The host did not come, or nothing answered at the other end. */
  'unreachable',
  /** The allocation is being released, or is switched off. */
  'released',
  /** A role, membership, token or account was taken away. */
  'revoked',
  /** No input and no output for the idle time of the policy. */
  'idle',
  /** Its longest time is over. */
  'expired',
  /** The gateway is being restarted; a new ticket reaches another. */
  'gateway_stopped',
  /** An end did not keep to this protocol. */
  'protocol_error',
] as const;
export type SessionEndReason = (typeof SESSION_END_REASONS)[number];

/** The code with which the gateway closes both legs, for an end that missed the word. */
export const SESSION_CLOSE_CODES = {
  ended: 1000,
  client_disconnected: 4001,
  agent_disconnected: 4002,
  unreachable: 4003,
  released: 4004,
  revoked: 4005,
  idle: 4006,
  expired: 4007,
  gateway_stopped: 4008,
  protocol_error: 4009,
} as const satisfies Record<SessionEndReason, number>;

const Cells = Type.Integer({ minimum: 1, maximum: 1000 });
export const TerminalSize = { cols: Cells, rows: Cells };

const Ack = Closed({
  type: Type.Literal('ack'),
  bytes: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
});
/** Nothing more comes this way; the other way stays open. */
const Eof = Closed({ type: Type.Literal('eof') });

/** What a client may say. */
export const ClientMessage = Type.Union([Ack, Eof, Closed({ type: Type.Literal('resize'), ...TerminalSize })]);
/** What a host may say. */
export const HostMessage = Type.Union([
  Ack,
  Eof,
  /** The other end is there: what was sent before is on its way. */
  Closed({ type: Type.Literal('ready') }),
  /** Exit status of the program; null where a signal ended it. */
  Closed({
    type: Type.Literal('exit'),
    code: Nullable(Type.Integer()),
    signal: Nullable(Type.String({ maxLength: 32 })),
  }),
  /** The other end is not there, in words for the tenant. The session is over. */
  Closed({ type: Type.Literal('failed'), message: Type.String({ maxLength: 500 }) }),
]);
/** What the gateway says itself, to clients: first of all what the session is, and at the end why it is over. */
export const GatewayMessage = Type.Union([
  Closed({
    type: Type.Literal('session'),
    session_id: Id('terminal_session'),
    kind: StringEnum(SESSION_KINDS),
    is_writable: Type.Boolean({ description: 'False for read-only access; input is discarded.' }),
    is_recorded: Type.Boolean(),
    notice: Nullable(Type.String({ description: 'Text to show first.' })),
    expires_at: Time('When it expires.'),
  }),
  Closed({
    type: Type.Literal('closed'),
    reason: StringEnum(SESSION_END_REASONS),
    message: Type.String({ description: 'One sentence, with what to do.' }),
  }),
]);

export type ClientMessage = Static<typeof ClientMessage>;
export type HostMessage = Static<typeof HostMessage>;
export type GatewayMessage = Static<typeof GatewayMessage>;
