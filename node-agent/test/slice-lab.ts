/** A composed host with the tasks of an agent on it: a slice is created by calling them in order. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BootKind, TaskKind, TaskOutput, TaskParams, TaskSlot } from '@gpuaas/contract/node';
import { silentLog } from '@gpuaas/kit';
import { handlers } from '../src/tasks/index.ts';
import type { TaskContext, TaskHandler } from '../src/tasks/task.ts';
import { type ComposedHost, makeComposedHost } from './composed-host.ts';
import { leaseOf, of, startOf } from './slice.ts';
import { makeTenant, type Tenant } from './tenant.ts';

const TASK_MS = 20 * 60_000;

export type SliceLab = Readonly<{
  host: ComposedHost;
  state: string;
  tenant: Tenant;
  slots: readonly TaskSlot[];
  /** Params of a lease, of a start, and of tasks that only name the slots. */
  lease: TaskParams<'slice.bundle_lease'>;
  start: TaskParams<'slice.vm_start'>;
  held: ReturnType<typeof of>;
  /** The address of the guest OS for the tenant. */
  at: Readonly<{ ip: string }>;
  /** By an agent that was just started. */
  run<K extends keyof typeof handlers>(
    kind: K,
    params: TaskParams<K>,
    more?: Partial<Pick<TaskContext, 'signal' | 'progress'>>,
  ): Promise<TaskOutput<K>>;
  close(): Promise<void>;
}>;

/** Its image starts with the kernel of the host: firmware is slow under emulation. */
export const makeSliceLab = async ({
  boot_kind = 'kernel',
  ...given
}: NonNullable<Parameters<typeof makeComposedHost>[0]> & Readonly<{ boot_kind?: BootKind }>): Promise<SliceLab> => {
  const host = await makeComposedHost(given);
  const state = await mkdtemp(join(tmpdir(), 'gpuaas-state-'));
  const tenant = makeTenant(host.network.config.command_prefix);
  const slots = host.loop.slots.map(
    (slot, index): TaskSlot => ({
      slot_id: `slt_01jtest000000000000000000${index}`,
      slot_index: index,
      generation: 1,
      module_id: slot.module_id,
      gpu_pci_address: slot.gpu,
      nvme_serial: slot.disk.serial,
      nvme_device: slot.disk.device,
      mac_address: `02:00:00:00:00:0${index + 1}`,
      private_ip: `10.100.0.1${index + 1}`,
      fabric_vf_pci_address: slot.vf,
      wipe_method: null,
    }),
  );
  return {
    host,
    state,
    tenant,
    slots,
    lease: leaseOf(slots),
    start: { ...startOf(slots), ssh_public_keys: [tenant.public_key] },
    held: of(slots),
    at: { ip: slots[0]?.private_ip ?? '' },
    run: async (kind, params, more = {}) => {
      const handler = handlers[kind] as unknown as TaskHandler<TaskKind>;
      const context: TaskContext = {
        host: host.reopen(),
        node_id: 'nod_01jtest0000000000000000001',
        task_id: 'tsk_01jtest0000000000000000001',
        attempt: 1,
        correlation_id: 'test',
        log: silentLog(),
        signal: AbortSignal.timeout(TASK_MS),
        progress: () => undefined,
        now: () => new Date(),
        state,
        ...more,
      };
      const image = kind === 'slice.image_clone' || kind === 'slice.vm_start' ? { boot_kind } : {};
      return (await handler(context, { ...image, ...params } as TaskParams<TaskKind>)) as TaskOutput<typeof kind>;
    },
    close: async () => {
      tenant.remove();
      await host.close();
      await rm(state, { recursive: true, force: true });
    },
  };
};
