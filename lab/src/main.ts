/** `gpuaas-lab`: simulated hosts for laptops, tests and benchmarks, and their faults. */
import { UsageError } from './usage.ts';

const HELP = `Usage: gpuaas-lab COMMAND [options]

  fleet    run simulated GPU hosts with real agents
  host     run one simulated host, and install its agent as on a real one
  fault    make something go wrong on a simulated host

For details: gpuaas-lab COMMAND --help. The platform itself is \`make up\`.
`;

type Entry = Readonly<{ help: string; run: (argv: readonly string[]) => void | Promise<void> }>;

/** Loaded on demand: adding a fault does not load all modules of an agent. */
const load = async (command: string): Promise<Entry | undefined> => {
  if (command === 'fleet') {
    const { FLEET_HELP, fleetCommand } = await import('./fleet-command.ts');
    return { help: FLEET_HELP, run: fleetCommand };
  }
  if (command === 'host') {
    const { HOST_HELP, hostCommand } = await import('./host-command.ts');
    return { help: HOST_HELP, run: hostCommand };
  }
  if (command !== 'fault') return undefined;
  const { FAULT_HELP, faultCommand } = await import('./fault-command.ts');
  return { help: FAULT_HELP, run: faultCommand };
};

const isUsage = (err: unknown): err is Error =>
  err instanceof UsageError ||
  (err instanceof TypeError && String((err as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS'));

const main = async (argv: readonly string[]): Promise<void> => {
  const [command, ...rest] = argv;
  if (command === undefined || command === '--help' || command === '-h') return void process.stdout.write(HELP);
  const entry = await load(command);
  if (entry === undefined) throw new UsageError(`There is no command "${command}"; there are fleet, host and fault.`);
  if (rest.some((word) => word === '--help' || word === '-h')) return void process.stdout.write(entry.help);
  await entry.run(rest);
};

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (err) {
  process.stderr.write(`${(err as Error).message}\n`);
  if (isUsage(err)) process.stderr.write('For details: gpuaas-lab --help\n');
  process.exit(isUsage(err) ? 2 : 1);
}
