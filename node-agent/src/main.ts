/** The program on each GPU host. See `gpuaas-node-agent --help`. */
import { ConfigError } from '@gpuaas/kit';
import { discover } from './commands/discover.ts';
import { enrollCommand } from './commands/enroll.ts';
import { type Io, UsageError } from './commands/io.ts';
import { runCommand } from './commands/run.ts';
import { statusCommand } from './commands/status.ts';
import { readStdinLine } from './commands/stdin-line.ts';
import { NotEnrolledError } from './control-plane/connection.ts';
import { ControlPlaneError } from './control-plane/errors.ts';
import { HostError } from './host/host.ts';
import { LockedError } from './lock.ts';
import { VERSION } from './version.ts';

const USAGE = `Usage: gpuaas-node-agent <command> [options]

  run        Run the agent until stopped
  enroll     Enroll this host with the token on standard input or in --token-file FILE (mode 0600);
             --node-api-url URL, --ca-sha256 HEX
  discover   Print the topology of this host; read-only (see discover --help)
  status     Print the state of the agent (--json)
  version    Print the version

run, enroll and status accept --state DIR and --env-file FILE (default /etc/gpuaas/node-agent.env) with
GPUAAS_NODE_API_URL, GPUAAS_NODE_CA_SHA256, GPUAAS_NODE_STATE_DIR, GPUAAS_NODE_WAIT_S and GPUAAS_LOG_LEVEL.
`;

const io: Io = {
  env: process.env,
  out: (line) => void process.stdout.write(line),
  err: (line) => void process.stderr.write(line),
  readLine: readStdinLine,
};

/** Errors whose message is sufficient. */
const isPlain = (err: unknown): err is Error =>
  [ConfigError, UsageError, NotEnrolledError, ControlPlaneError, HostError, LockedError].some(
    (kind) => err instanceof kind,
  ) ||
  (err instanceof TypeError && 'code' in err && String(err.code).startsWith('ERR_PARSE_ARGS'));

const main = async (argv: readonly string[]): Promise<number> => {
  const [command, ...rest] = argv;
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => (stopping.signal.aborted ? process.exit(130) : stopping.abort()));
  switch (command) {
    case 'run':
      return runCommand(rest, io, stopping.signal);
    case 'enroll':
      return enrollCommand(rest, io);
    case 'discover':
      return discover(rest, io);
    case 'status':
      return statusCommand(rest, io);
    case 'version':
    case '--version':
      io.out(`${VERSION}\n`);
      return 0;
    case 'help':
    case '--help':
      io.out(USAGE);
      return 0;
    default:
      io.err(USAGE);
      return 2;
  }
};

try {
  process.exitCode = await main(process.argv.slice(2));
  // The service ends when its agent has stopped; other commands end when all output is written.
  if (process.argv[2] === 'run') process.exit();
} catch (err) {
  io.err(`${isPlain(err) ? err.message : String(err instanceof Error ? err.stack : err)}\n`);
  process.exitCode = err instanceof ConfigError || err instanceof UsageError || err instanceof TypeError ? 2 : 1;
}
