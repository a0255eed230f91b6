/**
 * What the agent says of itself with every poll. The host is asked seldom, and a host that cannot be read does not take
 * its agent offline: the last word stands, and discovery tells what is wrong.
 */
import type { NodeBody, TaskKind } from '@gpuaas/contract/node';
import type { Log } from '@gpuaas/kit';
import type { Host } from './host/host.ts';

export type StandingBody = Pick<NodeBody<'taskWait'>, 'agent_version' | 'boot_id' | 'booted_at' | 'kinds'>;

const FRESH_MS = 30_000;

export const createAgentStatus = (
  options: Readonly<{ host: Host; version: string; kinds: () => TaskKind[]; now: () => Date; log: Log }>,
): (() => Promise<StandingBody>) => {
  let boot = { boot_id: 'unknown', booted_at: options.now().toISOString() };
  let readMs = -Infinity;
  let wasOk = true;
  return async () => {
    if (performance.now() - readMs > FRESH_MS) {
      try {
        const { boot_id, booted_at } = await options.host.system.facts();
        boot = { boot_id: boot_id.slice(0, 64), booted_at };
        wasOk = true;
      } catch (err) {
        if (wasOk) options.log.warn({ err }, 'the system of this host cannot be read');
        wasOk = false;
      }
      readMs = performance.now();
    }
    return { agent_version: options.version, ...boot, kinds: options.kinds() };
  };
};
