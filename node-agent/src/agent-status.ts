/**
 * The status that the agent sends with every poll. It is read from the host at most every 30 seconds. An unreadable host
 * does not take its agent offline: the last status is sent, and discovery reports the error.
 */
import type { NodeBody, TaskKind } from '@gpuaas/contract/node';
import type { Log } from '@gpuaas/kit';
import type { Host } from './host/host.ts';

export type AgentStatus = Pick<NodeBody<'taskWait'>, 'agent_version' | 'boot_id' | 'booted_at' | 'kinds' | 'host'>;

const FRESH_MS = 30_000;

export const createAgentStatus = (
  options: Readonly<{ host: Host; version: string; kinds: () => TaskKind[]; now: () => Date; log: Log }>,
): (() => Promise<AgentStatus>) => {
  let boot = { boot_id: 'unknown', booted_at: options.now().toISOString() };
  let host: AgentStatus['host'] = { product_serial: null, product_uuid: null, machine_id: null };
  let readMs = -Infinity;
  let wasOk = true;
  return async () => {
    if (performance.now() - readMs > FRESH_MS) {
      try {
        const { boot_id, booted_at } = await options.host.system.facts();
        boot = { boot_id: boot_id.slice(0, 64), booted_at };
        host = await options.host.system.identity();
        wasOk = true;
      } catch (err) {
        if (wasOk) options.log.warn({ err }, 'failed to read system facts of the host');
        wasOk = false;
      }
      readMs = performance.now();
    }
    return { agent_version: options.version, ...boot, kinds: options.kinds(), host };
  };
};
