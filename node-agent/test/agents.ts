/** Agents for tests: enrolled at a test control plane, on a host that reports only its boot ID. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { TASK_KINDS } from '@gpuaas/contract/node';
import { type Agent, type AgentConfig, type AgentOptions, createAgent } from '../src/agent.ts';
import { enroll } from '../src/control-plane/enroll.ts';
import { type Host, HostError } from '../src/host/host.ts';
import type { TaskHandlers } from '../src/tasks/task.ts';
import type { Platform } from './platform.ts';

export const HOST = { product_serial: 'TEST-1', product_uuid: null, machine_id: null };
export const BOOT = { boot_id: 'b-1', booted_at: '2026-01-01T00:00:00.000Z' };

/** Every other part is unreadable. */
export const plainHost = (): Host => {
  const system = { facts: async () => ({ ...BOOT }), identity: async () => ({ ...HOST }) };
  const unreadable = new Proxy(
    {},
    { get: () => () => Promise.reject(new HostError('unsupported', 'there is nothing here')) },
  );
  return new Proxy({} as Host, {
    get: (_, part) =>
      part === 'kinds'
        ? TASK_KINDS
        : part === 'system'
          ? system
          : part === 'then' || part === 'during'
            ? undefined
            : unreadable,
  });
};

const cleaners = new WeakMap<TestContext, (() => unknown)[]>();

/** What was started last ends first. */
export const cleanUp = (t: TestContext, clean: () => unknown): void => {
  const known = cleaners.get(t);
  if (known !== undefined) return void known.push(clean);
  const list = [clean];
  cleaners.set(t, list);
  t.after(async () => {
    for (const each of list.toReversed()) await each();
  });
};

export const temporaryFolder = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-agent-'));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
};

export const status = { agent_version: '0.0.0-test', ...BOOT, kinds: [...TASK_KINDS], host: HOST };

export const enrolled = async (platform: Platform, state: string, nodeId = platform.nodeId()): Promise<string> => {
  await enroll({
    url: platform.url,
    ca_sha256: platform.authority().sha256,
    token: platform.mintToken(nodeId),
    state,
    hostname: 'test-host',
    status,
  });
  return nodeId;
};

export const QUICK = { baseMs: 20, capMs: 100 };

export type Started = Readonly<{ agent: Agent; lines: Record<string, unknown>[] }>;

export const startTestAgent = async (
  t: TestContext,
  platform: Platform,
  options: Readonly<{ state: string; handlers: TaskHandlers; config?: Partial<AgentConfig> }> &
    Pick<AgentOptions, 'at' | 'journal_fs'>,
): Promise<Started> => {
  const lines: Record<string, unknown>[] = [];
  const { state, handlers, config, ...rest } = options;
  const agent = await createAgent({
    host: plainHost(),
    handlers,
    config: {
      url: platform.url,
      state,
      version: '0.0.0-test',
      write_log: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
      retry: QUICK,
      health: false,
      reconcile: false,
      ...config,
    },
    ...rest,
  }).start();
  cleanUp(t, () => agent.stop());
  return { agent, lines };
};
