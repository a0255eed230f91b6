/**
 * Thousands of minimal agents in one process: each has a TLS connection with the node's certificate and one prepared
 * request, which is sent again whenever the response holds no task. An agent that received a task records the time, and
 * waits until it is instructed to poll again.
 */
import { readFileSync } from 'node:fs';
import { connect, createSecureContext, type TLSSocket } from 'node:tls';
import type { Agents } from './identity.ts';

export type Woken = Readonly<{ at_ms: readonly number[]; answer_bytes: number }>;

type Line = {
  readonly socket: TLSSocket;
  /** The text before and after the clock value. */
  readonly request: readonly [string, string];
  text: string;
  is_asking: boolean;
};

/** Concurrent handshakes. */
const RAMP = 32;

const [file = '', port = ''] = process.argv.slice(2);
const agents = JSON.parse(readFileSync(file, 'utf8')) as Agents;
const lines: Line[] = [];
let wokenAt: number[] = [];
let answerBytes = 0;
let onAllWoken: (() => void) | undefined;

/** The same clock in every process. */
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

const fail = (message: string): never => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
};

/** Only the host's clock differs between requests, and its length is constant. */
const requestOf = (nodeId: string): Line['request'] => {
  // As it is bound in identity.ts.
  const host = { product_serial: nodeId.toUpperCase(), product_uuid: null, machine_id: null };
  const rest = JSON.stringify({ ...agents.standing, host, journaled_task_ids: [], wait_s: 15 });
  const opening = '{"clock":"';
  const closing = `",${rest.slice(1)}`;
  const length = opening.length + new Date().toISOString().length + closing.length;
  const head = `POST /internal/v1/nodes/${nodeId}/tasks/wait HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
  return [`${head}${opening}`, closing];
};

const poll = (line: Line): void => {
  if (line.is_asking) return;
  line.is_asking = true;
  line.text = '';
  line.socket.write(line.request.join(new Date().toISOString()));
};

const onAnswer = (line: Line, body: string): void => {
  line.is_asking = false;
  if (!line.text.startsWith('HTTP/1.1 200 ')) fail(`an agent was refused: ${line.text}`);
  if (body.includes('"tasks":[]')) {
    poll(line);
    return;
  }
  wokenAt.push(nowMs());
  answerBytes = body.length;
  if (wokenAt.length === lines.length) onAllWoken?.();
};

const onData = (line: Line, chunk: Buffer): void => {
  line.text += chunk.toString('latin1');
  const end = line.text.indexOf('\r\n\r\n');
  if (end === -1) return;
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(line.text)?.[1] ?? fail(`no length: ${line.text}`));
  if (line.text.length >= end + 4 + length) onAnswer(line, line.text.slice(end + 4));
};

const open = (index: number): Promise<void> =>
  new Promise((resolve) => {
    const agent = agents.nodes[index] ?? fail(`there is no agent ${index}`);
    const socket = connect({
      host: '127.0.0.1',
      port: Number(port),
      servername: 'localhost',
      secureContext: createSecureContext({ ca: agents.ca, key: agents.key, cert: agent.certificate_pem }),
    });
    const line: Line = { socket, request: requestOf(agent.node_id), text: '', is_asking: false };
    socket.setNoDelay(true);
    socket.once('error', (err) => fail(`a connection failed: ${err.message}`));
    socket.once('close', () => fail(`the server hung up on ${agent.node_id}`));
    socket.on('data', (chunk: Buffer) => onData(line, chunk));
    socket.once('secureConnect', () => {
      lines.push(line);
      poll(line);
      resolve();
    });
  });

const pollAll = async (count: number): Promise<void> => {
  for (const line of lines) poll(line);
  let next = lines.length;
  const ramp = async (): Promise<void> => {
    while (next < count) await open(next++);
  };
  await Promise.all(Array.from({ length: RAMP }, ramp));
};

process.on('message', (message: Readonly<{ poll?: number; woken?: true }>) => {
  if (message.poll !== undefined)
    pollAll(message.poll).then(
      () => process.send?.({}),
      (err: unknown) => fail(String(err)),
    );
  if (message.woken !== undefined) {
    wokenAt = [];
    onAllWoken = () => process.send?.({ at_ms: wokenAt, answer_bytes: answerBytes } satisfies Woken);
  }
});
// Before the first connection nothing else keeps the process alive.
process.channel?.ref();
process.on('disconnect', () => process.exit(0));
