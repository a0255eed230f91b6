/**
 * The SSH server of a simulated system. It serves one given connection and does not listen, so every client came
 * through the host port. Keys are read at each login: a replaced set takes effect at once.
 */
import type { Duplex } from 'node:stream';
import type { AuthContext, Connection, Server, ServerChannel, Session } from 'ssh2';
import type { Streams } from './access-commands.ts';
import type { Inside } from './access-guest.ts';
import { serveFiles } from './access-sftp.ts';
import { createShell, written } from './access-shell.ts';
import { createTty } from './access-tty.ts';

export type SshServer = Readonly<{
  private_key: string;
  /** Null: no such account, or it was removed. */
  login(username: string): Readonly<{ ssh_public_keys: readonly string[]; inside: Inside }> | null;
  /** A local port of the VM; null if nothing listens. */
  connect(port: number): Duplex | null;
}>;

type Size = { cols: number; rows: number };
type Parts = Readonly<{ Server: typeof Server; parseKey: (text: string) => unknown }>;
type Key = Readonly<{
  type: string;
  getPublicSSH(): Buffer;
  verify(data: Buffer, signature: Buffer, algorithm?: string): boolean | Error;
}>;

/** Loaded at the first connection: thousands of hosts without one do not need it. */
const load = async (): Promise<Parts> => {
  const { default: ssh2 } = await import('ssh2');
  return { Server: ssh2.Server, parseKey: ssh2.utils.parseKey };
};

const isKey = (parsed: unknown): parsed is Key => !(parsed instanceof Error) && parsed !== null;

/** Options precede a key, as in any authorized_keys; their restrictions are not simulated. */
const withoutOptions = (line: string): string => line.replace(/^no-[A-Za-z0-9,-]+ /, '');

const knows = ({ parseKey }: Parts, context: Extract<AuthContext, { method: 'publickey' }>, lines: readonly string[]) =>
  lines.some((line) => {
    const key = parseKey(withoutOptions(line));
    if (!isKey(key) || !key.getPublicSSH().equals(context.key.data)) return false;
    // Without a signature the client only asks whether the key would be accepted.
    if (context.signature === undefined || context.blob === undefined) return true;
    return key.verify(context.blob, context.signature, context.hashAlgo) === true;
  });

const authenticate = (parts: Parts, door: SshServer, context: AuthContext, onLogin: (inside: Inside) => void): void => {
  const account = context.method === 'publickey' ? door.login(context.username) : null;
  if (context.method !== 'publickey' || account === null || !knows(parts, context, account.ssh_public_keys)) {
    context.reject(['publickey']);
    return;
  }
  if (context.signature !== undefined) onLogin(account.inside);
  context.accept();
};

const end = (channel: ServerChannel, code: number): void => {
  if (!channel.writable) return;
  channel.exit(code);
  channel.end();
};

/** With a terminal: a line discipline between the input and the shell, with terminal line ends. */
const serveTerminal = async (
  channel: ServerChannel,
  inside: Inside,
  size: Size,
  command: string | null,
): Promise<number> => {
  const shell = createShell(inside);
  const write = (bytes: string | Uint8Array): Promise<void> =>
    written(channel, typeof bytes === 'string' ? bytes.replaceAll('\n', '\r\n') : bytes);
  let running = new AbortController();
  const tty = createTty({ write: (text) => written(channel, text), interrupt: () => running.abort() });
  const typed = async (): Promise<void> => {
    for await (const bytes of channel) await tty.feed(bytes as Buffer);
  };
  void typed()
    .catch(() => undefined)
    .finally(() => tty.end());
  channel.once('close', () => {
    tty.end();
    running.abort();
  });
  async function* lines(): AsyncGenerator<Uint8Array> {
    for (let line = await tty.read(); line !== null; line = await tty.read()) yield Buffer.from(line);
  }
  const run = (line: string) => {
    running = new AbortController();
    // Bytes that pass through a terminal get its line ends as well.
    const out = (bytes: string | Uint8Array) =>
      write(typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString());
    const streams: Streams = { input: lines(), out, err: write, signal: running.signal, size: () => ({ ...size }) };
    return shell.run(line, streams);
  };
  if (command !== null) return (await run(command)).code;
  await write(shell.welcome);
  let last = 0;
  for (;;) {
    await write(shell.prompt);
    running = new AbortController();
    const line = await tty.read();
    if (!channel.writable) return last;
    if (line === null && running.signal.aborted) continue;
    if (line === null) {
      await write('logout\n');
      return last;
    }
    const { code, isExit } = await run(line.trimEnd());
    last = code;
    if (isExit) return code;
  }
};

const servePlain = async (channel: ServerChannel, inside: Inside, command: string | null): Promise<number> => {
  const shell = createShell(inside);
  const running = new AbortController();
  channel.once('close', () => running.abort());
  const streams: Omit<Streams, 'input'> = {
    out: (bytes) => written(channel, bytes),
    err: (text) => written(channel.stderr, text),
    signal: running.signal,
    size: () => null,
  };
  if (command !== null) return (await shell.run(command, { ...streams, input: channel })).code;
  // A script on standard input: the shell reads all of it, so its commands get no input.
  let script = '';
  for await (const bytes of channel) script += String(bytes);
  let last = 0;
  for (const line of script.split('\n')) {
    const { code, isExit } = await shell.run(line, { ...streams, input: (async function* () {})() });
    last = code;
    if (isExit) break;
  }
  return last;
};

const serveSession = (session: Session, inside: Inside): void => {
  let size: Size | null = null;
  const start = (channel: ServerChannel, command: string | null): void => {
    channel.on('error', () => undefined);
    const served = size === null ? servePlain(channel, inside, command) : serveTerminal(channel, inside, size, command);
    void served.then(
      (code) => end(channel, code),
      () => end(channel, 1),
    );
  };
  session.on('pty', (accept, _reject, { cols, rows }) => {
    size = { cols, rows };
    accept?.();
  });
  session.on('window-change', (accept, _reject, { cols, rows }) => {
    if (size !== null) Object.assign(size, { cols, rows });
    accept?.();
  });
  session.on('env', (accept) => accept?.());
  session.on('shell', (accept) => start(accept(), null));
  session.on('exec', (accept, _reject, { command }) => start(accept(), command));
  session.on('sftp', (accept) => serveFiles(accept(), inside.files));
};

const serveConnection = (parts: Parts, door: SshServer, connection: Connection): void => {
  let inside: Inside | null = null;
  connection.on('error', () => undefined);
  connection.on('authentication', (context) =>
    authenticate(parts, door, context, (found) => {
      inside = found;
    }),
  );
  connection.on('session', (accept, reject) => {
    if (inside === null) return reject();
    serveSession(accept(), inside);
  });
  // `ssh -L`, only to the VM itself.
  connection.on('tcpip', (accept, reject, { destIP, destPort }) => {
    const isSelf = ['localhost', '127.0.0.1', '::1'].includes(destIP);
    const target = inside !== null && isSelf ? door.connect(destPort) : null;
    if (target === null) return reject();
    const channel = accept();
    channel.on('error', () => target.destroy());
    target.on('error', () => channel.destroy());
    channel.pipe(target).pipe(channel);
  });
};

export const serveSsh = async (socket: Duplex, door: SshServer): Promise<void> => {
  const parts = await load();
  const server = new parts.Server({ hostKeys: [door.private_key], ident: 'gpuaas-simulated' }, (connection) =>
    serveConnection(parts, door, connection),
  );
  server.injectSocket(socket as Parameters<Server['injectSocket']>[0]);
};
