/**
 * Onboards a host through the public API, as an operator does manually: add the node, enroll its agent, run a
 * discovery, then approve its slots, or approve the disks of a bare-metal host. Each step runs only if its outcome is
 * not known to the control plane yet, so that repeated onboarding changes nothing and an operator's later decisions
 * stay.
 */
import { pause } from '@gpuaas/kit';
import { type Client, GpuaasError } from '@gpuaas/sdk';
import { ControlPlaneError } from '../../node-agent/src/index.ts';
import type { FleetHost } from './fleet-host.ts';

export type Onboarding = Readonly<{ client: Client; host: FleetHost; signal: AbortSignal }>;

const REGION = 'us-buffalo-1';
const GPU_MODEL = 'H200 SXM';
const GPU_COUNT = 8;
const REASON = 'The simulated fleet comes up.';
const LOOK_MS = 200;
const LOOK_MAX_MS = 2_000;

const until = async <T>(signal: AbortSignal, look: () => Promise<T | undefined>): Promise<T> => {
  for (let waitMs = LOOK_MS; ; waitMs = Math.min(LOOK_MAX_MS, waitMs * 1.5)) {
    signal.throwIfAborted();
    const found = await look();
    if (found !== undefined) return found;
    await pause(waitMs, signal);
  }
};

const ensureNode = async ({ client, host: { spec } }: Onboarding) => {
  const { items } = await client.adminNodeList({ query: { name: spec.name } });
  if (items[0] !== undefined) return { node: items[0], enrollment: undefined };
  return client.adminNodeCreate({
    body: {
      name: spec.name,
      region_name: REGION,
      gpu_model: GPU_MODEL,
      gpu_count: GPU_COUNT,
      capacity_mode: spec.capacity_mode,
      ...(spec.pool_name === undefined ? {} : { pool_name: spec.pool_name }),
    },
  });
};

/** Each call of `work` needs its own token: a sent token may be used up, whatever the response. */
const withRetries = async (signal: AbortSignal, work: () => Promise<void>): Promise<void> => {
  for (;;) {
    try {
      return await work();
    } catch (err) {
      if (!(err instanceof ControlPlaneError) || !['busy', 'unreachable'].includes(err.kind)) throw err;
      await pause((err.retry_after_s ?? 1) * 1000, signal);
      signal.throwIfAborted();
    }
  }
};

const ensureEnrolled = async (given: Onboarding): Promise<string> => {
  const { client, host, signal } = given;
  const { node, enrollment } = await ensureNode(given);
  const known = await host.findNodeId();
  if (known === node.id) return node.id;
  await host.stop();
  if (known !== undefined) await host.clear();
  let door = enrollment;
  await withRetries(signal, async () => {
    door ??= await client.adminNodeEnrollmentCreate({ params: { node_id: node.id }, body: { reason: REASON } });
    const { token, ca_sha256, node_api_url } = door;
    door = undefined;
    await host.enroll({ token, ca_sha256, node_api_url });
  });
  return node.id;
};

const isMissing = (err: unknown): boolean => err instanceof GpuaasError && err.status === 404;

const discovered = async ({ client, signal }: Onboarding, node_id: string) => {
  const read = () =>
    client.adminNodeDiscoveryGet({ params: { node_id } }).catch((err: unknown) => {
      if (isMissing(err)) return undefined;
      throw err;
    });
  if ((await read()) === undefined) await client.adminNodeDiscoveryCreate({ params: { node_id }, body: {} });
  return until(signal, async () => {
    const found = await read();
    if (found !== undefined && ['failed', 'expired', 'unknown'].includes(found.task.state))
      throw new Error(`discovery failed: ${found.task.state_reason ?? found.task.state}`);
    return found?.map ?? undefined;
  });
};

const approve = async (given: Onboarding, node_id: string): Promise<void> => {
  const { map_hash } = await discovered(given, node_id);
  const slots = await given.client.adminNodeSlotList({ params: { node_id } });
  if (slots.items.length > 0) return;
  try {
    await given.client.adminNodeSlotApprove({ params: { node_id }, body: { map_hash } });
  } catch (err) {
    // Blockers may be gone by the next attempt, which then finds a newer discovery.
    await given.client.adminNodeDiscoveryCreate({ params: { node_id }, body: {} });
    throw err;
  }
};

/** Without them a release would have nothing to wipe. The node accepts no launch until they are approved. */
const approveDisks = async (given: Onboarding, node_id: string): Promise<void> => {
  const { client, signal } = given;
  const params = { node_id };
  const owned = async () => (await client.adminNodeDiskList({ params, query: { limit: 100 } })).items;
  const { candidates } = await discovered(given, node_id);
  const serials = candidates.flatMap(({ content }) => content.nvme_serial ?? []);
  const known = new Map((await owned()).map((disk) => [disk.serial, disk.state]));
  const node = await client.adminNodeGet({ params });
  if (serials.every((serial) => known.has(serial)) && node.state_reason !== REASON) return;
  if (node.state === 'active') await client.adminNodeDrain({ params, body: { is_draining: true, reason: REASON } });
  for (const serial of serials.filter((one) => !known.has(one)))
    await client.adminNodeDiskApprove({ params, body: { serial, reason: REASON } });
  const isDecided = ({ state }: { state: string }) => ['owned', 'excluded'].includes(state);
  await until(signal, async () => ((await owned()).every(isDecided) ? true : undefined));
  await client.adminNodeDrain({ params, body: { is_draining: false, reason: REASON } });
};

/** Waits until launches can be placed on it. A node that an operator drained or retired is left unchanged. */
const schedulable = ({ client, signal }: Onboarding, node_id: string) =>
  until(signal, async () => {
    const node = await client.adminNodeGet({ params: { node_id } });
    if (node.state !== 'active' && node.state !== 'offline') return node;
    if (node.state !== 'active' || !node.is_connected || !node.is_runtime_validated) return undefined;
    const { items } = await client.adminNodeSlotList({ params: { node_id }, query: { limit: 100 } });
    return items.some(({ status, wipe_proof_id }) => status === 'quarantined' && wipe_proof_id === null)
      ? undefined
      : node;
  });

export const onboard = async (given: Onboarding): Promise<void> => {
  const { client, host, signal } = given;
  const nodeId = await ensureEnrolled(given);
  const { items } = await client.osImageList({ query: { limit: 100 } });
  await host.prepare(items);
  await host.start();
  await until(signal, async () => {
    const node = await client.adminNodeGet({ params: { node_id: nodeId } });
    return node.is_connected && node.health !== 'unknown' && node.state !== 'enrolling' ? node : undefined;
  });
  if (host.spec.until === 'discovered') return void (await discovered(given, nodeId));
  if (host.spec.capacity_mode === 'baremetal') await approveDisks(given, nodeId);
  else await approve(given, nodeId);
  await schedulable(given, nodeId);
};
