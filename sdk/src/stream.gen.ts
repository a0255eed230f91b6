// Written by `make gen` from contract/. Do not edit.

export const STREAM_PROTOCOL = 'gpuaas.stream.v1';
export const TICKET_PROTOCOL_PREFIX = 'gpuaas.ticket.';
export const STREAM_WINDOW_BYTES = 1048576;
export const STREAM_ACK_BYTES = 262144;
export const STREAM_MESSAGE_BYTES_MAX = 65536;

export const SESSION_KINDS = ['terminal', 'console', 'ssh', 'forward'] as const;
export const SESSION_END_REASONS = ['ended', 'client_disconnected', 'agent_disconnected', 'unreachable', 'released', 'revoked', 'idle', 'expired', 'gateway_stopped', 'protocol_error'] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];
export type SessionEndReason = (typeof SESSION_END_REASONS)[number];
/** The code that a WebSocket is closed with, for an end that is not in the list. */
export const SESSION_CLOSE_CODES: Readonly<Record<SessionEndReason, number>> = {"ended":1000,"client_disconnected":4001,"agent_disconnected":4002,"unreachable":4003,"released":4004,"revoked":4005,"idle":4006,"expired":4007,"gateway_stopped":4008,"protocol_error":4009};

export type ClientMessage = {
  type: 'ack';
  bytes: number;
} | {
  type: 'eof';
} | {
  type: 'resize';
  cols: number;
  rows: number;
};

export type HostMessage = {
  type: 'ack';
  bytes: number;
} | {
  type: 'eof';
} | {
  type: 'ready';
} | {
  type: 'exit';
  code: number | null;
  signal: string | null;
} | {
  type: 'failed';
  message: string;
};

export type GatewayMessage = {
  type: 'session';
  /** ID of the terminal session. */
  session_id: string;
  kind: 'terminal' | 'console' | 'ssh' | 'forward';
  /** False for read-only access; input is discarded. */
  is_writable: boolean;
  is_recorded: boolean;
  /** Text to show first. */
  notice: string | null;
  /** When it expires. */
  expires_at: string;
} | {
  type: 'closed';
  reason: 'ended' | 'client_disconnected' | 'agent_disconnected' | 'unreachable' | 'released' | 'revoked' | 'idle' | 'expired' | 'gateway_stopped' | 'protocol_error';
  /** One sentence, with what to do. */
  message: string;
};
