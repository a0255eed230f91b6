/**
 * The bytes of a session between a client and a host, through the gateway. Each leg is one WebSocket: a binary message
 * is bytes of the session, a text message is one of the messages below as JSON. The gateway forwards both and adds its
 * own.
 *
 * Neither end sends more bytes than the other can buffer: at most `STREAM_WINDOW_BYTES` unacknowledged, in each
 * direction. A slow reader therefore slows the program in the guest OS down, and nothing between them buffers unread
 * data.
 */
import Type, { type Static } from 'typebox';
import { Closed, Nullable, StringEnum, Time } from './common.ts';
import { Id } from './ids.ts';

/** The subprotocol of both legs. */
export const STREAM_PROTOCOL = 'gpuaas.stream.v1';
/** A client offers its ticket as a second subprotocol with this prefix, so that it appears in no URL and no log. */
export const TICKET_PROTOCOL_PREFIX = 'gpuaas.ticket.';
/** Where clients connect at the gateway. */
export const STREAM_PATH = '/v1/stream';
/** Where agents connect at the gateway's own listener. */
export const AGENT_STREAM_PATH = '/internal/v1/nodes/{node_id}/streams/{session_id}';

export const STREAM_WINDOW_BYTES = 1024 * 1024;
/** Received bytes are acknowledged in parts of about this size. */
export const STREAM_ACK_BYTES = 256 * 1024;
export const STREAM_MESSAGE_BYTES_MAX = 64 * 1024;

/**
 * `terminal`: a shell in the guest, or on the node, as its account. `console`: the serial line. `ssh`: the SSH port as it is.
 * `forward`: any other TCP port of the guest.
 */
export const SESSION_KINDS = ['terminal', 'console', 'ssh', 'forward'] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

/** Why a session ended, as stable codes; each comes with a sentence for users. */
export const SESSION_END_REASONS = [
  /** The program, or the other end of the connection, ended. */
  'ended',
  /** The client disconnected. */
  'client_disconnected',
  /** The host's leg disconnected: its agent or network. */
  'agent_disconnected',
  /** The host did not connect, or the target did not respond. */
  'unreachable',
  /** The allocation is being released, or is switched off. */
  'released',
  /** A role, membership, token or account was revoked. */
  'revoked',
  /** No input and no output for the idle time of the policy. */
  'idle',
  /** Its maximum duration is over. */
  'expired',
  /** The gateway is being restarted; a new ticket reaches another. */
  'gateway_stopped',
  /** A peer violated this protocol. */
  'protocol_error',
] as const;
export type SessionEndReason = (typeof SESSION_END_REASONS)[number];

/** The code with which the gateway closes both legs, for a peer that missed the message. */
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
/** End of data in this direction; the other direction stays open. */
const Eof = Closed({ type: Type.Literal('eof') });

/** Messages of a client. */
export const ClientMessage = Type.Union([Ack, Eof, Closed({ type: Type.Literal('resize'), ...TerminalSize })]);
/** Messages of a host. */
export const HostMessage = Type.Union([
  Ack,
  Eof,
  /** The target is connected: earlier input is on its way. */
  Closed({ type: Type.Literal('ready') }),
  /** Exit status of the program; null where a signal ended it. */
  Closed({
    type: Type.Literal('exit'),
    code: Nullable(Type.Integer()),
    signal: Nullable(Type.String({ maxLength: 32 })),
  }),
  /** The target is unreachable, as a sentence for the tenant. The session has ended. */
  Closed({ type: Type.Literal('failed'), message: Type.String({ maxLength: 500 }) }),
]);
/** The gateway's own messages to clients: first the properties of the session, and at the end why it ended. */
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
