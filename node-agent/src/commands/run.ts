/** `gpuaas-node-agent run`: the service. It stops on a signal, or exits to start another version. */
import { parseArgs } from 'node:util';
import { createAgent } from '../agent.ts';
import { ENV_FILE } from '../config.ts';
import { createLinuxHost } from '../host/linux/host.ts';
import { handlers } from '../tasks/index.ts';
import { RESTART_EXIT_CODE } from '../update.ts';
import { VERSION } from '../version.ts';
import { COMMON_OPTIONS, type Io, needed, settingsOf } from './io.ts';

export const runCommand = async (argv: readonly string[], io: Io, signal: AbortSignal): Promise<number> => {
  const { values } = parseArgs({ args: [...argv], options: COMMON_OPTIONS });
  const settings = await settingsOf(io, values, ENV_FILE);
  const ended = Promise.withResolvers<number>();
  signal.addEventListener('abort', () => ended.resolve(0), { once: true });
  const agent = await createAgent({
    host: createLinuxHost({
      images: settings.images,
      wipe_minimum: settings.wipe_minimum,
      devices: settings.devices,
      network: settings.network,
      hypervisor: settings.hypervisor,
    }),
    handlers,
    config: {
      url: needed(settings.url, 'GPUAAS_NODE_API_URL'),
      state: settings.state,
      version: VERSION,
      log_level: settings.log_level,
      wait_s: settings.wait_s,
      health: { interval_ms: settings.health_s * 1000 },
      write_log: io.err,
      restart: () => ended.resolve(RESTART_EXIT_CODE),
      ...(settings.home === undefined ? {} : { home: settings.home }),
    },
  }).start();
  agent.log.info({ version: VERSION }, 'agent started');
  const status = await ended.promise;
  agent.log.info({ status }, 'agent stopping');
  await agent.stop();
  return status;
};
