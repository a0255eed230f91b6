/** `gpuaas-node-agent enroll`: enrolls this host as a node, or again after a long absence. */
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { ENV_FILE } from '../config.ts';
import { enroll } from '../control-plane/enroll.ts';
import { createLinuxHost } from '../host/linux/host.ts';
import { VERSION } from '../version.ts';
import { COMMON_OPTIONS, type Io, needed, settingsOf, UsageError } from './io.ts';

const TOKEN_VARIABLE = 'GPUAAS_ENROLLMENT_TOKEN';

/** From the flag, from the variable, or with `--token -` from standard input, where no process list shows it. */
const tokenOf = async (io: Io, flag: string | undefined): Promise<string> => {
  const token = flag === '-' ? (await io.readStdin()).trim() : (flag ?? io.env[TOKEN_VARIABLE]?.trim());
  if (token === undefined || token === '')
    throw new UsageError(`Specify the token with --token or in ${TOKEN_VARIABLE}.`);
  return token;
};

export const enrollCommand = async (argv: readonly string[], io: Io): Promise<number> => {
  const { values } = parseArgs({ args: [...argv], options: { ...COMMON_OPTIONS, token: { type: 'string' } } });
  const settings = await settingsOf(io, values, ENV_FILE);
  const host = createLinuxHost();
  const { boot_id, booted_at } = await host.system.facts();
  const identity = await enroll({
    url: needed(settings.url, 'GPUAAS_NODE_API_URL'),
    ca_sha256: needed(settings.ca_sha256, 'GPUAAS_NODE_CA_SHA256'),
    token: await tokenOf(io, values.token),
    state: settings.state,
    hostname: hostname(),
    status: {
      agent_version: VERSION,
      boot_id,
      booted_at,
      kinds: [...host.kinds],
    },
  });
  io.out(`Enrolled as ${identity.node_id}; certificate renewal starts at ${identity.renew_after}.\n`);
  return 0;
};
