/**
 * One session: a client, the host once connected, and the data between them. Data and messages are passed through; the
 * gateway adds the first message and the last. A session ends once, and both ends get the reason.
 */
import {
  type ClientMessage,
  type HostMessage,
  SESSION_CLOSE_CODES,
  type SessionEndReason,
} from '@gpuaas/contract/stream';
import type { Log } from '@gpuaas/kit';
import type { WebSocket } from 'ws';
import { sessionNotice } from '../domain/session.ts';
import type {
  Ending,
  GatewaySessionRow,
  SessionActivity,
  SessionCount,
  SessionEnd,
} from '../sessions/gateway-session.ts';
import { createLeg, type Leg } from './leg.ts';
import { readClientMessage, readHostMessage, redactedMessage, writeMessage } from './messages.ts';
import { createRecorder, type Recorder } from './recording.ts';
import { createWindow } from './window.ts';

export type SessionOptions = Readonly<{
  row: GatewaySessionRow;
  client: WebSocket;
  user_agent: string;
  nowMs: () => number;
  log: Log;
  keepPart(part: number, content: Buffer): Promise<void>;
  /** The host reported that the target is connected. */
  onReady(): void;
  onBytes(direction: 'in' | 'out', bytes: number): void;
  /** The target is gone: whether the control plane caused it. */
  endReason(activity: SessionActivity): Promise<SessionEnd | null>;
  /** The session ended: its row must be closed. The promise waits only for the last part of the recording. */
  onEnd(ending: Ending, recorded: Promise<void>): void;
}>;

export type Session = Readonly<{
  id: string;
  node_id: string;
  row: GatewaySessionRow;
  /** False when a host is connected already. */
  attach(host: WebSocket): boolean;
  end(end: SessionEnd): void;
  activity(): SessionActivity;
  count(): SessionCount;
  /** Pings both ends. */
  ask(): void;
}>;

/** Buffer for client data before the host connects; beyond it the client is not read. */
const EARLY_BYTES = 64 * 1024;
/** A slow peer gets earlier data; one that must be disconnected does not. */
const CLOSE_MS: Readonly<Record<'calm' | 'prompt', number>> = { calm: 30_000, prompt: 1_000 };
const NOT_BEHIND: ReadonlySet<SessionEndReason> = new Set(['ended', 'agent_disconnected', 'client_disconnected']);
/** The close code of a host that received an invalid message. */
const REFUSED_BY_HOST = 1002;

export const createSession = (options: SessionOptions): Session => {
  const { row, nowMs } = options;
  const startedMs = nowMs();
  /** From the client to the guest, and the reverse. */
  const hostWindow = createWindow();
  const clientWindow = createWindow();
  let early: (Buffer | string)[] = [];
  let earlyBytes = 0;
  let host: Leg | undefined;
  let attachedMs: number | undefined;
  let saidMs = startedMs;
  let isReady = false;
  let hasExited = false;
  let isOver = false;

  const end = ({ reason, message }: SessionEnd): void => {
    if (isOver) return;
    isOver = true;
    early = [];
    const withinMs = CLOSE_MS[NOT_BEHIND.has(reason) ? 'calm' : 'prompt'];
    client.send(writeMessage({ type: 'closed', reason, message }));
    client.close(SESSION_CLOSE_CODES[reason], reason, withinMs);
    host?.close(SESSION_CLOSE_CODES[reason], reason, withinMs);
    const ending = { id: row.id, reason, message, ...counted(), user_agent: options.user_agent };
    options.onEnd(ending, recorder?.end() ?? Promise.resolve());
  };
  const broken = (who: 'client' | 'host'): void =>
    end({ reason: 'protocol_error', message: `The ${who} violated the session protocol.` });
  const counted = () => ({ bytes_in: hostWindow.total(), bytes_out: clientWindow.total() });

  const activity = (): SessionActivity => ({
    id: row.id,
    idle_ms: nowMs() - saidMs,
    waiting_ms: attachedMs === undefined ? nowMs() - startedMs : null,
    connecting_ms: attachedMs === undefined || isReady ? null : nowMs() - attachedMs,
  });
  /** A stopped VM disconnects before the next check; its client gets that reason and not a lost connection. */
  const disconnected = (otherwise: SessionEnd): void => {
    if (isOver) return;
    options.endReason(activity()).then(
      (why) => end(why ?? otherwise),
      () => end(otherwise),
    );
  };

  const recorder: Recorder | undefined = row.is_recorded
    ? createRecorder({
        cols: row.cols,
        rows: row.rows,
        nowMs,
        keep: options.keepPart,
        // Also for the client: the recording includes its window sizes.
        onBehind: (isBehind) => {
          for (const leg of [host, client])
            if (isBehind) leg?.hold('recording');
            else leg?.release('recording');
        },
        onFull: () =>
          end({ reason: 'expired', message: 'The recording reached its size limit. Open a new session to continue.' }),
        onFailure: (err) => {
          options.log.error({ err, session_id: row.id }, 'failed to store recording');
          end({
            reason: 'gateway_stopped',
            message: 'The recording that your organization requires cannot be stored at the moment. Retry later.',
          });
        },
      })
    : undefined;

  const toHost = (data: Buffer | string): void => {
    if (host === undefined) {
      early.push(data);
      // A message costs more than its length.
      earlyBytes += data.length + 64;
      if (earlyBytes > EARLY_BYTES) client.hold('early');
    } else host.send(data);
  };

  /** False where the sender violated the protocol; the same for the three below. */
  const clientBytes = (data: Buffer): boolean => {
    saidMs = nowMs();
    if (!row.is_writable) {
      // Input to a read-only console is dropped and acknowledged.
      if (data.length > 0) client.send(writeMessage({ type: 'ack', bytes: data.length }));
      return true;
    }
    if (!hostWindow.send(data.length)) return false;
    options.onBytes('in', data.length);
    toHost(data);
    return true;
  };

  const clientMessage = (word: ClientMessage | undefined): boolean => {
    if (word === undefined) return false;
    if (word.type === 'ack' && !clientWindow.acknowledge(word.bytes)) return false;
    if (word.type === 'eof' && !hostWindow.finish()) return false;
    if (word.type === 'resize') recorder?.resize(word.cols, word.rows);
    if (word.type !== 'eof' || row.is_writable) toHost(writeMessage(word));
    return true;
  };

  const hostBytes = (data: Buffer): boolean => {
    saidMs = nowMs();
    if (!clientWindow.send(data.length)) return false;
    options.onBytes('out', data.length);
    recorder?.output(data);
    client.send(data);
    return true;
  };

  const hostMessage = (word: HostMessage | undefined): boolean => {
    if (word === undefined) return false;
    if (word.type === 'ack' && !hostWindow.acknowledge(word.bytes)) return false;
    if (word.type === 'eof' && !clientWindow.finish()) return false;
    if (word.type === 'ready' && !isReady) {
      isReady = true;
      options.onReady();
    }
    hasExited ||= word.type === 'exit';
    const text = redactedMessage(word);
    client.send(writeMessage(text));
    if (text.type === 'failed') end({ reason: 'unreachable', message: text.message });
    return true;
  };

  const isFinished = (): boolean => hasExited || (hostWindow.isFinished() && clientWindow.isFinished());

  const client: Leg = createLeg(options.client, {
    onMessage: (data, isBinary) => {
      if (!isOver && !(isBinary ? clientBytes(data) : clientMessage(readClientMessage(data.toString()))))
        broken('client');
    },
    onFull: (isFull) => {
      if (isFull) host?.hold('client');
      else host?.release('client');
      if (row.is_writable) return;
      // Its input is acknowledged here, so a client that types and does not read is not read either.
      if (isFull) client.hold('answers');
      else client.release('answers');
    },
    onClose: (_, isProtocol) => {
      if (isProtocol) broken('client');
      else if (isFinished()) end({ reason: 'ended', message: 'The session has ended.' });
      else end({ reason: 'client_disconnected', message: 'The client disconnected.' });
    },
  });

  const attach = (socket: WebSocket): boolean => {
    if (host !== undefined || isOver) return false;
    host = createLeg(socket, {
      onMessage: (data, isBinary) => {
        if (!isOver && !(isBinary ? hostBytes(data) : hostMessage(readHostMessage(data.toString())))) broken('host');
      },
      onFull: (isFull) => (isFull ? client.hold('host') : client.release('host')),
      onClose: (code, isProtocol) => {
        if (isProtocol) broken('host');
        else if (code === REFUSED_BY_HOST) broken('client');
        else if (hasExited) end({ reason: 'ended', message: 'The session has ended.' });
        else if (isFinished() || code === SESSION_CLOSE_CODES.ended)
          disconnected({ reason: 'ended', message: 'The remote end closed the connection.' });
        else
          disconnected({
            reason: 'agent_disconnected',
            message: 'The agent disconnected. Open a new session.',
          });
      },
    });
    attachedMs = nowMs();
    for (const data of early) host.send(data);
    early = [];
    client.release('early');
    return true;
  };

  client.send(
    writeMessage({
      type: 'session',
      session_id: row.id,
      kind: row.kind,
      is_writable: row.is_writable,
      is_recorded: row.is_recorded,
      notice: sessionNotice(row.is_recorded),
      expires_at: row.expires_at,
    }),
  );

  return {
    id: row.id,
    node_id: row.node_id,
    row,
    attach,
    end,
    activity,
    count: () => ({ id: row.id, ...counted() }),
    ask: () => {
      if (!client.ask()) end({ reason: 'client_disconnected', message: 'The client stopped responding.' });
      if (host?.ask() === false)
        end({
          reason: 'agent_disconnected',
          message: 'The agent stopped responding. Open a new session.',
        });
    },
  };
};
