/** Forwards local ports to ports of an allocation. Each connection has its own ticket and session. */
import { createServer, type Server, type Socket } from 'node:net';
import { clean } from '../clean.ts';
import { command, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError, UsageError } from '../exit.ts';
import { allocationParams } from '../find.ts';
import { join, openSession } from '../session.ts';
import { notReady } from '../ssh-access.ts';

type Ports = Readonly<{ local: number; remote: number }>;
type Target = Readonly<{ project_id: string; allocation_id: string }>;

const portOf = (raw: string, min: number): number => {
  const port = /^\d{1,5}$/.test(raw) ? Number(raw) : -1;
  if (port < min || port > 65_535)
    throw new UsageError(`"${raw}" is not a port.`, 'Use REMOTE or LOCAL:REMOTE, like 8888 or 9000:8888.');
  return port;
};

/** `8888` is the same port on both sides; `0:8888` takes any free local port. */
export const parsePorts = (raw: string): Ports => {
  const [first = '', second, ...more] = raw.split(':');
  if (more.length > 0) portOf(raw, 0);
  return second === undefined
    ? { local: portOf(first, 1), remote: portOf(first, 1) }
    : { local: portOf(first, 0), remote: portOf(second, 1) };
};

/** One connection. A failure is reported and ends nothing else. */
const carry = async (cli: Cli, target: Target, remote: number, socket: Socket): Promise<void> => {
  try {
    const stream = await openSession(cli, { ...target, kind: 'forward', port: remote });
    const { reason, message } = await join(stream, socket);
    if (reason !== 'ended' && reason !== 'client_disconnected') cli.out.say(`Port ${remote}: ${message}`);
  } catch (err) {
    if (!cli.signal.aborted) cli.out.say(`Port ${remote}: ${err instanceof Error ? clean(err.message) : err}`);
  } finally {
    socket.destroy();
  }
};

const listen = (server: Server, { local: port, remote }: Ports, address: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', (err: NodeJS.ErrnoException) =>
      reject(
        err.code === 'EADDRINUSE'
          ? new CliError('failure', `Port ${port} on ${address} is in use.`, `Use any free port: 0:${remote}`)
          : new CliError('failure', `Port ${port} on ${address} cannot be used: ${err.code ?? err.message}.`),
      ),
    );
    server.listen(port, address, () => {
      const bound = server.address();
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port);
    });
  });

export const forward = command({
  name: 'forward',
  summary: 'Forward local ports to an allocation',
  scope: 'project',
  args: { allocation: 'Name or ID', 'ports...': 'REMOTE or LOCAL:REMOTE; 0:REMOTE picks a free local port' },
  flags: { address: text('Address to listen on (default 127.0.0.1)', 'ip') },
  examples: ['gpuaas forward train 8888', 'gpuaas forward train 9000:8888 6006'],
  run: async (cli, { args, flags }) => {
    const ports = args.ports.map(parsePorts);
    if (ports.length === 0) throw new UsageError('Specify a port.', 'For example: gpuaas forward train 8888');
    const target = await allocationParams(cli, args.allocation);
    const found = await (await cli.client()).allocationGet({ params: target }, { signal: cli.signal });
    const problem = notReady(cli, found);
    if (problem !== null) throw problem;
    // A refusal by role or policy ends the command before anything listens. The ticket itself expires unused.
    const body = { kind: 'forward' as const, port: ports[0]?.remote };
    await (await cli.client()).terminalTicketCreate({ params: target, body }, { signal: cli.signal });
    const address = flags.address ?? '127.0.0.1';
    const sockets = new Set<Socket>();
    const servers = ports.map(({ remote }) =>
      createServer({ allowHalfOpen: true }, (socket) => {
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
        void carry(cli, target, remote, socket);
      }),
    );
    try {
      for (const [index, server] of servers.entries()) {
        const { local = 0, remote = 0 } = ports[index] ?? {};
        const bound = await listen(server, { local, remote }, address);
        if (cli.out.json) cli.out.item({ address, local_port: bound, remote_port: remote });
        else cli.out.print(`${address}:${bound} forwards to port ${remote} of ${found.name}`);
      }
      cli.out.say('Press Ctrl-C to stop.');
      if (!cli.signal.aborted)
        await new Promise((resolve) => cli.signal.addEventListener('abort', resolve, { once: true }));
    } finally {
      for (const server of servers) server.close();
      for (const socket of sockets) socket.destroy();
    }
  },
});
