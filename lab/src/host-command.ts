/**
 * `gpuaas-lab host`: one simulated host on which an operator installs the agent, as on a real one: with the address,
 * fingerprint and token that `gpuaas admin node create` or the console printed. Nothing here signs in as an operator.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { PROFILE_NAMES } from '../../node-agent/src/host/sim/profile.ts';
import { fleetDir } from './fleet-dir.ts';
import { createFleetHost, type EnrollmentGrant, type FleetHost, simSpeed } from './fleet-host.ts';
import { onSignal } from './signal.ts';
import { oneOf, UsageError } from './usage.ts';

export const HOST_HELP = `Usage: gpuaas-lab host NAME [options]

Runs one simulated GPU host until Ctrl-C or SIGTERM. The first time, install its
agent with what \`gpuaas admin node create\` or the console printed; later it
continues with what is in its directory.

  --node-api-url URL   where the agent connects
  --ca-sha256 HEX      fingerprint of the CA that it verifies
  --token-file FILE    the enrollment token; - reads standard input
  --serial             print the serial number of the host and exit
  --dir DIR            where hosts live (default: fleet/ in the state directory)
  --profile NAME       ${PROFILE_NAMES.join(', ')}
  --fast               the host takes no time for its work; small disks
  --verbose            print what the agent logs

Examples:
  gpuaas admin node create sim-1 --region us-buffalo-1 --gpu-model "H200 SXM" \\
    --gpus 8 --mode slice --serial "$(gpuaas-lab host sim-1 --serial)"
  gpuaas-lab host sim-1 --node-api-url https://localhost:8443 \\
    --ca-sha256 HEX --token-file -
`;

const OPTIONS = {
  'node-api-url': { type: 'string' },
  'ca-sha256': { type: 'string' },
  'token-file': { type: 'string' },
  serial: { type: 'boolean', default: false },
  dir: { type: 'string' },
  profile: { type: 'string', default: 'dell-xe9680-h200' },
  fast: { type: 'boolean', default: false },
  verbose: { type: 'boolean', default: false },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

const STANDARD_INPUT = 0;

const grantOf = (values: Values): EnrollmentGrant | undefined => {
  const { 'node-api-url': node_api_url, 'ca-sha256': ca_sha256, 'token-file': file } = values;
  if (node_api_url === undefined && ca_sha256 === undefined && file === undefined) return undefined;
  if (node_api_url === undefined || ca_sha256 === undefined || file === undefined)
    throw new UsageError('--node-api-url, --ca-sha256 and --token-file belong together.');
  return { node_api_url, ca_sha256, token: readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8').trim() };
};

const install = async (host: FleetHost, name: string, grant: EnrollmentGrant | undefined): Promise<string> => {
  const known = await host.findNodeId();
  if (grant !== undefined) await host.enroll(grant);
  else if (known === undefined)
    throw new UsageError(`${name} is not enrolled: give --node-api-url, --ca-sha256 and --token-file.`);
  return (await host.findNodeId()) ?? '';
};

export const hostCommand = async (argv: readonly string[]): Promise<void> => {
  const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new UsageError('Name one host.');
  const profile = oneOf('--profile', PROFILE_NAMES, values.profile);
  const host = createFleetHost({
    dir: fleetDir(values.dir),
    // The operator decides mode, pool and approval when adding the node.
    spec: { name, profile, capacity_mode: 'slice', until: 'discovered', faults: [] },
    sim: simSpeed(values.fast),
    agent: {
      is_journal_synced: false,
      ...(values.verbose ? { write_log: (line: string) => void process.stdout.write(line) } : {}),
    },
    say: (line) => process.stderr.write(`${line}\n`),
  });
  if (values.serial) return void process.stdout.write(`${await host.serialNumber()}\n`);
  const stopped = onSignal();
  const node_id = await install(host, name, grantOf(values));
  await host.start();
  process.stdout.write(`${name} runs as ${node_id}\n`);
  await stopped;
  await host.stop();
};
