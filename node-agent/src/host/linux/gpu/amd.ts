/** AMD GPUs: the driver reports in sysfs what its tools print. */
import type { GpuFacts, PciFunction } from '@gpuaas/contract/node';
import type { Files } from '../files.ts';
import type { GpuVendor } from './vendor.ts';

const BYTES_PER_MIB = 1024 * 1024;

const readAmd = async (files: Files, fn: PciFunction): Promise<GpuFacts> => {
  const folder = `/sys/bus/pci/devices/${fn.address}`;
  const [model, unique, memory, version, sensors] = await Promise.all([
    files.find(`${folder}/product_name`),
    files.find(`${folder}/unique_id`),
    files.find(`${folder}/mem_info_vram_total`),
    files.find('/sys/module/amdgpu/version'),
    files.findNames(`${folder}/hwmon`),
  ]);
  const temperature = sensors?.[0] === undefined ? null : await files.find(`${folder}/hwmon/${sensors[0]}/temp1_input`);
  return {
    pci_address: fn.address,
    model: model || null,
    uuid: unique || null,
    memory_mib: memory === null ? null : Math.floor(Number(memory) / BYTES_PER_MIB),
    module_id: null,
    fabric_state: null,
    driver_version: version,
    mig_mode: null,
    ecc_mode: null,
    ecc_uncorrected: null,
    temperature_c: temperature === null ? null : Math.round(Number(temperature) / 1000),
  };
};

const LOST = /amdgpu ([0-9a-f]{4,8}:[0-9a-f:.]+): .*device lost from bus/i;

export const amd: GpuVendor = {
  name: 'AMD',
  vendor_id: '1002',
  driver: 'amdgpu',
  drivers: ['amdgpu'],
  switch_class: null,
  tool: { name: 'amd-smi', version: ['amd-smi', 'version'] },
  guest_count: null,
  reset_methods: ['bus', 'flr'],
  partitioning_off: null,
  list: ({ files }, gpus) => Promise.all(gpus.map((fn) => readAmd(files, fn))),
  logEvent: (lines, index) => {
    const address = LOST.exec(lines[index] ?? '')?.[1];
    return address === undefined
      ? null
      : { code: null, name: 'GPU has fallen off the bus', kind: 'broken', address, text: 'fallen off the bus' };
  },
};
