/** `gpuaas-node-agent enroll`: enrolls this host as a node, or again after a long absence. */
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { ENV_FILE } from '../config.ts';
import { enroll } from '../control-plane/enroll.ts';
import { createLinuxHost } from '../host/linux/host.ts';
import { VERSION } from '../version.ts';
import { readToken, refuseDisclosed } from './enroll-token.ts';
import { COMMON_OPTIONS, type Io, needed, settingsOf } from './io.ts';

export const enrollCommand = async (argv: readonly string[], io: Io): Promise<number> => {
  refuseDisclosed(argv, io.env);
  const { values } = parseArgs({ args: [...argv], options: { ...COMMON_OPTIONS, 'token-file': { type: 'string' } } });
  const settings = await settingsOf(io, values, ENV_FILE);
  const host = createLinuxHost();
  const { boot_id, booted_at } = await host.system.facts();
  const identity = await enroll({
    url: needed(settings.url, 'GPUAAS_NODE_API_URL'),
    ca_sha256: needed(settings.ca_sha256, 'GPUAAS_NODE_CA_SHA256'),
    token: await readToken(io, values['token-file']),
    state: settings.state,
    hostname: hostname(),
    status: {
      agent_version: VERSION,
      boot_id,
      booted_at,
      kinds: [...host.kinds],
      host: await host.system.identity(),
    },
  });
  io.out(`Enrolled as ${identity.node_id}; certificate renewal starts at ${identity.renew_after}.\n`);
  return 0;
};
