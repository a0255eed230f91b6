import type { DeviceKind } from './topology.ts';

export const DEVICE_WORDS: Readonly<Record<DeviceKind, string>> = { gpu: 'GPU', nic: 'NIC', nvme: 'NVMe' };
