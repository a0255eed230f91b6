/** `gpuaas-lab`: simulated hosts for laptops, tests and benchmarks, and what goes wrong on them. */
import { FAULT_HELP, faultCommand } from './fault-command.ts';
import { FLEET_HELP, fleetCommand } from './fleet-command.ts';
import { UsageError } from './usage.ts';

const HELP = `Usage: gpuaas-lab COMMAND [options]

  fleet    run simulated GPU hosts with real agents
  fault    make something go wrong on a simulated host

gpuaas-lab COMMAND --help says more. The platform itself is \`make up\`.
`;

const HELP_OF: Readonly<Record<string, string>> = { fleet: FLEET_HELP, fault: FAULT_HELP };

const isUsage = (err: unknown): err is Error =>
  err instanceof UsageError ||
  (err instanceof TypeError && String((err as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS'));

const main = async (argv: readonly string[]): Promise<void> => {
  const [command, ...rest] = argv;
  if (command === undefined || command === '--help' || command === '-h') return void process.stdout.write(HELP);
  const help = HELP_OF[command];
  if (help === undefined) throw new UsageError(`There is no command "${command}"; there are fleet and fault.`);
  if (rest.some((word) => word === '--help' || word === '-h')) return void process.stdout.write(help);
  if (command === 'fleet') await fleetCommand(rest);
  else faultCommand(rest);
};

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (err) {
  process.stderr.write(`${(err as Error).message}\n`);
  if (isUsage(err)) process.stderr.write('`gpuaas-lab --help` says more.\n');
  process.exit(isUsage(err) ? 2 : 1);
}
