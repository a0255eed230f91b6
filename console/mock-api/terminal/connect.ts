/**
 * Sessions of the demo: the ticket is the mock's, and the VM is a shell in this page. The stream has the SDK's own
 * type.
 */
import { type connect, GpuaasError, type SessionStream, type StreamEnd } from '@gpuaas/sdk';
import { sessionNotice } from '../../../server/src/domain/session.ts';
import { createShell } from './shell.ts';
import { type Offer, takeTicket } from './tickets.ts';

/** A queue of bytes that ends. */
const createOutput = () => {
  const chunks: Uint8Array[] = [];
  let isOver = false;
  let wake = Promise.withResolvers<void>();
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) yield chunk;
      else if (isOver) return;
      else {
        await wake.promise;
        wake = Promise.withResolvers<void>();
      }
    }
  }
  return {
    bytes: bytes(),
    push: (chunk: Uint8Array) => {
      chunks.push(chunk);
      wake.resolve();
    },
    end: () => {
      isOver = true;
      wake.resolve();
    },
  };
};

const BOOT = [
  '[    0.000000] Linux version 6.8.0-60-generic (simulated)',
  '[    1.204113] nvidia-nvlink: Nvlink Core is being initialized',
  '[    3.771902] cloud-init[812]: finished',
  '',
];

/** Echoes input like a terminal: line by line, with backspace and end of input. */
const createLineEditor = (onLine: (line: string) => void, onEnd: () => void, echo: (text: string) => void) => {
  let line = '';
  return (text: string): void => {
    for (const letter of text) {
      if (letter === '\r' || letter === '\n') {
        echo('\r\n');
        const done = line;
        line = '';
        onLine(done);
      } else if (letter === '\u007f' || letter === '\b') {
        if (line !== '') echo('\b \b');
        line = line.slice(0, -1);
      } else if (letter === '\u0003') {
        echo('^C\r\n');
        line = '';
        onLine('');
      } else if (letter === '\u0004') {
        if (line === '') onEnd();
      } else if (letter >= ' ') {
        line += letter;
        echo(letter);
      }
    }
  };
};

const openSession = ({ world, session, allocation }: Offer): SessionStream => {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const output = createOutput();
  const closed = Promise.withResolvers<StreamEnd>();
  const shell = createShell(allocation);
  let isOver = false;
  const print = (text: string): void => {
    const bytes = encoder.encode(text.replaceAll(/\r?\n/g, '\r\n'));
    session.bytes_out += bytes.byteLength;
    output.push(bytes);
  };
  const finish = (end: StreamEnd): void => {
    if (isOver) return;
    isOver = true;
    Object.assign(session, { state: 'closed', closed_at: world.ago() });
    Object.assign(session, {
      end_reason: end.reason === 'connection_lost' ? 'agent_disconnected' : end.reason,
      end_message: end.message,
    });
    output.end();
    closed.resolve(end);
  };
  const exit = (code: number): void =>
    finish({ reason: 'ended', message: 'The program ended.', exit_code: code, signal: null });
  const type = createLineEditor(
    (line) => {
      const { output: text, exit: code } = shell.run(line);
      print(text);
      if (code === undefined) print(shell.prompt);
      else exit(code);
    },
    () => {
      print('logout\n');
      exit(0);
    },
    print,
  );
  Object.assign(session, { state: 'open', opened_at: world.ago(), source_ip: '203.0.113.24' });
  print(session.kind === 'console' ? BOOT.join('\n') : shell.greeting);
  print(shell.prompt);
  return {
    session: {
      type: 'session',
      session_id: session.id,
      kind: session.kind,
      is_writable: session.is_writable,
      is_recorded: session.is_recorded,
      notice: sessionNotice(session.is_recorded),
      expires_at: session.expires_at,
    },
    ready: Promise.resolve(),
    bytes: output.bytes,
    write: async (bytes) => {
      if (isOver || !session.is_writable) return;
      session.bytes_in += bytes.byteLength;
      type(decoder.decode(bytes, { stream: true }));
    },
    end: async () => exit(0),
    resize: () => undefined,
    close: () => finish({ reason: 'client_disconnected', message: 'Left.', exit_code: null, signal: null }),
    closed: closed.promise,
  };
};

/** As the SDK's `connect`, for tickets whose gateway is `mock:`. */
export const connectMock: typeof connect = async (
  client,
  { project_id, allocation_id, kind, port, cols, rows, signal },
) => {
  const ticket = await client.terminalTicketCreate(
    { params: { project_id, allocation_id }, body: { kind, port, cols, rows } },
    { signal },
  );
  const offer = ticket.url.startsWith('mock:') ? takeTicket(ticket.ticket) : undefined;
  if (offer === undefined)
    throw new GpuaasError('network', 'The ticket was used already or is older than 30 seconds. Try again.', {
      retryable: true,
    });
  const stream = openSession(offer);
  signal?.addEventListener('abort', () => stream.close(), { once: true });
  return stream;
};
