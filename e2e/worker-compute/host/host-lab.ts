/**
 * A cloud of one real host: the processes of the control plane, and an agent process on the composed host of the host
 * tier. The test controls the programs, the network and the libvirt of the host, to break and to inspect them.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Allocation } from '@gpuaas/sdk';
import { type ComposedHost, makeComposedHost, TINY_IMAGE } from '../../../node-agent/test/composed-host.ts';
import { makeTenant, type Tenant } from '../../../node-agent/test/tenant.ts';
import { eventually } from '../../sim/platform.ts';
import { failureReport } from '../../story.ts';
import { addToCatalog, type CatalogImage, type Cloud, REGION, startCloud } from '../cloud.ts';
import type { AgentFile } from './agent.ts';

const PROGRAM = fileURLToPath(new URL('agent.ts', import.meta.url));
export const HOST_NAME = 'host-0001';
const SLOW_MS = 120_000;
const REPORT_CHARS = 6000;

export type AgentProcess = Readonly<{
  start(): Promise<void>;
  /** As a power cut does. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  said(): string;
}>;

const createAgentProcess = (file: string): AgentProcess => {
  let child: ChildProcess | undefined;
  let text = '';
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, 'exit');
    ending.kill(signal);
    await ended;
  };
  return {
    said: () => text,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    start: async () => {
      const started = spawn(process.execPath, [PROGRAM, file], { stdio: ['ignore', 'pipe', 'pipe'] });
      child = started;
      let here = '';
      for (const stream of [started.stdout, started.stderr])
        stream?.on('data', (chunk: Buffer) => {
          here += chunk.toString();
          text = (text + chunk.toString()).slice(-100_000);
        });
      await eventually(
        'the agent has reached the platform',
        () => {
          if (started.exitCode !== null) assert.fail(`the agent ended:\n${here}`);
          return here.includes('reached\n') || undefined;
        },
        SLOW_MS,
      );
    },
  };
};

/** A replacement for one of the host's programs. It reports its start and continues when released. */
export type Hook = Readonly<{ reached(): Promise<void>; let(): Promise<void> }>;

export type HostLab = Readonly<{
  cloud: Cloud;
  host: ComposedHost;
  agent: AgentProcess;
  node_id: string;
  /** The agent's state directory. */
  state: string;
  tenant: Tenant;
  key_id: string;
  /** The same agent with other settings, until they are changed again. */
  restartWith(change: Partial<AgentFile>): Promise<void>;
  image: CatalogImage;
  slots(): Promise<Awaited<ReturnType<Cloud['client']['adminNodeSlotList']>>['items']>;
  slotOf(id: string): Promise<Awaited<ReturnType<HostLab['slots']>>[number]>;
  /** Over SSH at the address of the allocation. */
  ssh(allocation: Allocation, command: string): Promise<string>;
  /** Overrides the host's own program until it is restored. */
  replace(program: string, script: string): Promise<void>;
  putBack(program: string): Promise<void>;
  /** Holds the program before it acts; `before` is run first. */
  hold(program: string, before?: string): Promise<Hook>;
  /** For the message of a failed test. */
  report(): Promise<string>;
  close(): Promise<void>;
}>;

export type HostLabOptions = Readonly<{
  slots?: number;
  limits_s?: AgentFile['limits_s'];
  /** Of the control plane. */
  processes?: readonly string[];
  /** The agent's directory is on a volume of this size. */
  state_bytes?: number;
}>;

const enroll = async (cloud: Cloud) =>
  cloud.client.adminNodeCreate({
    body: { name: HOST_NAME, region_name: REGION, gpu_model: 'H200 SXM', gpu_count: 8, capacity_mode: 'slice' },
  });

/** Discovers and approves the candidates that have a disk. */
const approve = async (cloud: Cloud, node_id: string, slots: number): Promise<void> => {
  const { client } = cloud;
  await eventually(
    'the host reports its health',
    async () => {
      const node = await client.adminNodeGet({ params: { node_id } });
      return (node.is_connected && node.health !== 'unknown' && node.state !== 'enrolling') || undefined;
    },
    SLOW_MS,
  );
  await client.adminNodeDiscoveryCreate({ params: { node_id }, body: {} });
  const map = await eventually(
    'the host is discovered',
    async () => {
      const { task, map: found } = await client.adminNodeDiscoveryGet({ params: { node_id } });
      if (task.state === 'failed') assert.fail(`discovery failed: ${task.state_reason}`);
      return found ?? undefined;
    },
    SLOW_MS,
  );
  const whole = map.candidates.filter(({ blockers }) => blockers.length === 0).map(({ slot_index }) => slot_index);
  assert.equal(whole.length, slots, JSON.stringify(map.candidates.map(({ blockers }) => blockers)));
  assert.deepEqual(
    map.prerequisites.filter(({ is_met }) => !is_met),
    [],
  );
  await client.adminNodeSlotApprove({ params: { node_id }, body: { map_hash: map.map_hash, slot_indexes: whole } });
  await eventually(
    'the first wipes are proven',
    async () => {
      const { items } = await client.adminNodeSlotList({ params: { node_id }, query: { limit: 100 } });
      return items.every(({ status }) => status === 'available') || undefined;
    },
    SLOW_MS,
  );
};

const tinyImage = async (host: ComposedHost) => {
  const index = JSON.parse(await readFile(join(host.spec.source, 'index.json'), 'utf8')) as {
    images: CatalogImage[];
  };
  return index.images.find(({ name }) => name === TINY_IMAGE) ?? assert.fail('there is no tiny image');
};

export const startHostLab = async (options: HostLabOptions = {}): Promise<HostLab> => {
  const undo: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    process.off('SIGTERM', onSignal);
    for (const step of undo.splice(0).reverse()) await step();
  };
  // An interrupted run must leave no namespace, loop device or VM either.
  const onSignal = (): void => void close().finally(() => process.exit(143));
  process.once('SIGTERM', onSignal);
  const count = options.slots ?? 2;
  try {
    /** Each one that starts is closed later, also if the other fails. */
    const remembered = async <T extends Readonly<{ close(): Promise<void> }>>(making: Promise<T>): Promise<T> => {
      const made = await making;
      undo.push(made.close);
      return made;
    };
    const starting = [
      remembered(makeComposedHost({ slots: count })),
      remembered(startCloud(options.processes === undefined ? {} : { processes: options.processes })),
    ] as const;
    await Promise.allSettled(starting);
    const [host, cloud] = await Promise.all(starting);
    const image = await tinyImage(host);
    // As an installation leaves it.
    await host.host.images.pull(image, () => undefined);
    await addToCatalog(cloud.client, image);
    const { node, enrollment } = await enroll(cloud);
    const state = join(cloud.scratch, 'agent');
    const file = join(cloud.scratch, 'agent.json');
    const written: AgentFile = {
      host: host.spec,
      state,
      hostname: HOST_NAME,
      door: enrollment,
      ...(options.limits_s === undefined ? {} : { limits_s: options.limits_s }),
    };
    const write = (change: Partial<AgentFile>): void =>
      writeFileSync(file, JSON.stringify({ ...written, ...change }), { mode: 0o600 });
    write({});
    if (options.state_bytes !== undefined) {
      mkdirSync(state, { mode: 0o700 });
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${options.state_bytes},mode=700`, 'tmpfs', state]);
      undo.push(() => execFileSync('umount', ['--lazy', state]));
    }
    const agent = createAgentProcess(file);
    undo.push(agent.stop);
    await agent.start();
    await approve(cloud, node.id, count);
    const tenant = makeTenant(host.network.config.command_prefix);
    undo.push(tenant.remove);
    const key_id = await cloud.addKey('tenant', tenant.public_key);

    const programs = join(host.spec.root, 'bin');
    const at = (program: string): string => join(programs, program);
    const kept = (program: string): string => join(programs, `.${program}.own`);
    const replace = async (program: string, script: string): Promise<void> => {
      if (existsSync(at(program)) && !existsSync(kept(program))) await rename(at(program), kept(program));
      await writeFile(`${at(program)}.new`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      await rename(`${at(program)}.new`, at(program));
    };
    const putBack = async (program: string): Promise<void> => {
      if (existsSync(kept(program))) await rename(kept(program), at(program));
      else await rm(at(program), { force: true });
    };
    const slots: HostLab['slots'] = async () =>
      (await cloud.client.adminNodeSlotList({ params: { node_id: node.id }, query: { limit: 20 } })).items;

    return {
      cloud,
      host,
      agent,
      node_id: node.id,
      state,
      tenant,
      key_id,
      image,
      slots,
      restartWith: async (change) => {
        await agent.stop();
        write(change);
        await agent.start();
      },
      slotOf: async (id) => {
        const { claims } = await cloud.client.adminAllocationGet({ params: { allocation_id: id } });
        const found = (await slots()).find((slot) => claims.some((claim) => claim.slot_id === slot.id));
        return found ?? assert.fail(`${id} never held a slot`);
      },
      ssh: ({ ssh, name }, command) => {
        assert.ok(ssh, `${name} does not say how it is reached`);
        return tenant.run({ ip: ssh.address ?? '', host_key: ssh.host_key }, command);
      },
      replace,
      putBack,
      hold: async (program, before = '') => {
        const begun = join(programs, `.${program}.begun`);
        const open = join(programs, `.${program}.open`);
        for (const mark of [begun, open]) await rm(mark, { force: true });
        // The rest of the path contains the host's own programs.
        const own = existsSync(at(program)) ? kept(program) : program;
        const path = host.spec.path.split(':').slice(1).join(':');
        await replace(
          program,
          `${before}\n: >'${begun}'\nwhile [ ! -e '${open}' ]; do sleep 0.05; done\nPATH='${path}' exec ${own} "$@"`,
        );
        return {
          reached: async () =>
            void (await eventually(`${program} is begun`, () => stat(begun).catch(() => undefined), SLOW_MS)),
          let: () => writeFile(open, ''),
        };
      },
      report: async () =>
        `${await failureReport(cloud.client)}\n--- output of the agent\n${agent.said().slice(-REPORT_CHARS)}`,
      close,
    };
  } catch (err) {
    await close();
    throw err;
  }
};
