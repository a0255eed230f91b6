/**
 * One simulated host and its agent. Both live in a directory: `machine/` is the host, `agent/` the agent's identity and
 * journal. Opening the directory again continues from the same state, with guests, disks and tasks.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pause } from '@gpuaas/kit';
import { addFault } from '../../node-agent/src/host/sim/fault.ts';
import { createSimHost, type SimHost, type SimOptions } from '../../node-agent/src/host/sim/sim-host.ts';
import { type Agent, type AgentConfig, createAgent, enroll, readEnrollment } from '../../node-agent/src/index.ts';
import { handlers } from '../../node-agent/src/tasks/index.ts';
import { machineDir } from './fleet-dir.ts';
import type { HostSpec } from './fleet-spec.ts';

export type FleetHostOptions = Readonly<{
  /** The fleet's directory. */
  dir: string;
  spec: HostSpec;
  node_api_url?: URL;
  sim?: Pick<SimOptions, 'durations' | 'disk_bytes'> | undefined;
  agent?: Partial<AgentConfig>;
  say(line: string): void;
}>;

export type EnrollmentGrant = Readonly<{ token: string; ca_sha256: string; node_api_url: string }>;

export type FleetHost = Readonly<{
  spec: HostSpec;
  /** Has the images in its cache, as after an installation. */
  prepare(images: ReadonlyArray<Readonly<{ name: string; digest: string }>>): Promise<void>;
  /** The node it is enrolled as with a valid certificate; undefined if it has to be enrolled. */
  findNodeId(): Promise<string | undefined>;
  enroll(door: EnrollmentGrant): Promise<void>;
  /** As the firmware of the host reports it: the name by which an operator lets it enroll. */
  serialNumber(): Promise<string>;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Deletes host and agent: the state in the directory belonged to another control plane. */
  clear(): Promise<void>;
}>;

const SMALL_DISK_BYTES = 4 * 1024 ** 2;
/** A launch takes two to four seconds, so that its steps can be watched. */
const WATCHABLE = { boot_ms: 700, clone_ms: 600, wipe_ms: 300, pull_ms: 400, grace_ms: 300 };
export const simSpeed = (isFast: boolean): FleetHostOptions['sim'] =>
  isFast ? { disk_bytes: SMALL_DISK_BYTES } : { durations: WATCHABLE };

const VERSION = '0.1.0+sim';
/** Enough time to renew it. */
const CERTIFICATE_LEFT_MS = 60_000;
const RESTART_MS = 1_000;
/** Simulated work ends immediately when aborted, or never: a hang is not waited for. */
const GRACE_MS = 300;

export const createFleetHost = (options: FleetHostOptions): FleetHost => {
  const { spec } = options;
  const home = join(options.dir, spec.name);
  const machine = machineDir(options.dir, spec.name);
  const state = join(home, 'agent');
  const urlFile = join(home, 'node-api-url');
  let running: Agent | undefined;
  let current: Promise<void> | undefined;

  /** A crash ends only this host's agent, though others share the process; it restarts as a service would. */
  const crash = (): void => {
    options.say(`${spec.name}: the agent crashed`);
    // Immediately: the host's current work must not be reported.
    const stopped = running?.stop();
    running = undefined;
    current = Promise.resolve(stopped)
      .then(() => pause(RESTART_MS))
      .then(launch);
    current.catch((err: unknown) => options.say(`${spec.name}: ${String(err)}`));
  };

  const open = (): SimHost => {
    if (!existsSync(machine)) for (const fault of spec.faults) addFault(machine, fault);
    let hasCrashed = false;
    return createSimHost({
      dir: machine,
      name: spec.name,
      profile: spec.profile,
      ...options.sim,
      onCrash: () => {
        if (!hasCrashed) crash();
        hasCrashed = true;
      },
    });
  };

  const nodeApiUrl = async (): Promise<URL> =>
    options.node_api_url ?? new URL((await readFile(urlFile, 'utf8')).trim());

  const launch = async (): Promise<void> => {
    running = await createAgent({
      host: open(),
      handlers,
      config: {
        url: await nodeApiUrl(),
        state,
        version: VERSION,
        write_log: null,
        ship_logs: 'memory',
        grace_ms: GRACE_MS,
        ...options.agent,
      },
    }).start();
  };

  return {
    spec,
    prepare: async (images) => {
      const { images: cache } = open();
      for (const image of images) await cache.pull(image, () => {});
    },
    findNodeId: async () => {
      const enrollment = await readEnrollment(state).catch(() => undefined);
      if (enrollment === undefined) return undefined;
      const leftMs = Date.parse(enrollment.identity.not_after) - Date.now();
      return leftMs > CERTIFICATE_LEFT_MS ? enrollment.identity.node_id : undefined;
    },
    enroll: async ({ token, ca_sha256, node_api_url }) => {
      await mkdir(state, { recursive: true, mode: 0o700 });
      await writeFile(urlFile, `${node_api_url}\n`);
      const host = open();
      const { boot_id, booted_at } = await host.system.facts();
      await enroll({
        url: await nodeApiUrl(),
        ca_sha256,
        token,
        state,
        hostname: spec.name,
        status: {
          agent_version: VERSION,
          boot_id,
          booted_at,
          kinds: [...host.kinds],
          host: await host.system.identity(),
        },
      });
    },
    serialNumber: async () => (await open().system.identity()).product_serial ?? '',
    start: () => {
      current ??= launch();
      return current;
    },
    stop: async () => {
      await current?.catch(() => {});
      current = undefined;
      await running?.stop();
      running = undefined;
    },
    clear: () => rm(home, { recursive: true, force: true }),
  };
};
