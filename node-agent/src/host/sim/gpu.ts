/** What the vendor's tool reports about GPUs bound to the host's driver. */
import type { GpuFacts } from '@gpuaas/contract/node';
import type { Gpu } from '../host.ts';
import type { Core } from './core.ts';
import { functionsNow } from './functions.ts';
import { uuidOf } from './identity.ts';

const TEMPERATURE_C = 34;

const factsOf = (core: Core, slot: Core['slots'][number]): GpuFacts => {
  const { gpu, fabric } = core.profile;
  const isNvidia = gpu.driver === 'nvidia';
  const { active_partitions: active } = core.store.read();
  const isJoined = fabric?.partitions.some(
    ({ partition_id, module_ids }) =>
      slot.module_id !== null && module_ids.includes(slot.module_id) && active.includes(partition_id),
  );
  return {
    pci_address: slot.gpu,
    model: gpu.model,
    uuid: `${isNvidia ? 'GPU-' : ''}${uuidOf(core.name, 'gpu', slot.index)}`,
    memory_mib: gpu.memory_mib,
    module_id: slot.module_id,
    fabric_state: fabric === null ? 'N/A' : isJoined ? 'Completed' : 'In Progress',
    driver_version: gpu.driver_version,
    mig_mode: isNvidia ? (core.fault('mig_enabled', slot.gpu) === undefined ? 'disabled' : 'enabled') : null,
    ecc_mode: 'enabled',
    ecc_uncorrected: core.faults('gpu_ecc').length === 0 ? 0 : (core.fault('gpu_ecc', slot.gpu)?.value ?? 0),
    temperature_c: core.fault('gpu_temperature', slot.gpu)?.value ?? TEMPERATURE_C,
  };
};

export const createGpu = (core: Core): Gpu => ({
  list: () =>
    core.act('gpu.list', [], () => {
      const held = new Set(
        functionsNow(core).flatMap((fn) => (fn.driver === core.profile.gpu.driver ? [fn.address] : [])),
      );
      return core.slots
        .filter((slot) => held.has(slot.gpu) && core.fault('gpu_off_the_bus', slot.gpu) === undefined)
        .map((slot) => factsOf(core, slot));
    }),
});
