/**
 * Many simulated hosts in one process. Enrolled hosts start first, so that a restart resumes their tasks; then each is
 * onboarded as its spec says. A host that cannot be onboarded is retried and named.
 */
import { backoffMs, pause } from '@gpuaas/kit';
import type { Client } from '@gpuaas/sdk';
import { createFleetHost, type FleetHost, type FleetHostOptions } from './fleet-host.ts';
import type { HostSpec } from './fleet-spec.ts';
import { onboard } from './onboard.ts';

export type FleetOptions = Omit<FleetHostOptions, 'spec'> &
  Readonly<{
    specs: readonly HostSpec[];
    /** Null: only enrolled hosts run. */
    client: Client | null;
    onReady?: (host: HostSpec) => void;
  }>;

export type Fleet = Readonly<{ ready: Promise<void>; stop(): Promise<void> }>;

/** Each calls the control plane and writes to disk; more at once would only wait for each other. */
const ONBOARDING_AT_ONCE = 8;
const STOP_MS = 1_000;

/** The first line of a long problem is enough. */
const sentenceOf = (err: unknown): string => (err instanceof Error ? err.message : String(err)).slice(0, 400);

export const startFleet = (options: FleetOptions): Fleet => {
  const { specs, client, ...shared } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const hosts = specs.map((spec) => createFleetHost({ ...shared, spec }));

  const resume = async (host: FleetHost): Promise<void> => {
    try {
      if ((await host.findNodeId()) !== undefined) await host.start();
    } catch (err) {
      options.say(`${host.spec.name}: ${sentenceOf(err)}`);
    }
  };

  const bring = async (host: FleetHost): Promise<void> => {
    if (client === null) return;
    let said = '';
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await onboard({ client, host, signal });
        options.onReady?.(host.spec);
        return;
      } catch (err) {
        if (signal.aborted) return;
        const line = `${host.spec.name}: ${sentenceOf(err)}`;
        if (line !== said) options.say(line);
        said = line;
        await pause(backoffMs(attempt, { baseMs: 500, capMs: 30_000 }), signal);
      }
    }
  };

  const bringAll = async (): Promise<void> => {
    const waiting = [...hosts];
    const work = async (): Promise<void> => {
      for (let host = waiting.shift(); host !== undefined && !signal.aborted; host = waiting.shift()) await bring(host);
    };
    await Promise.all(hosts.map(resume));
    await Promise.all(Array.from({ length: ONBOARDING_AT_ONCE }, work));
  };

  const ready = bringAll();
  return {
    ready,
    stop: async () => {
      stopping.abort();
      // An unavailable control plane may be retried for minutes; hosts do not wait for that.
      await Promise.race([ready.catch(() => {}), pause(STOP_MS)]);
      await Promise.all(hosts.map((host) => host.stop()));
    },
  };
};
