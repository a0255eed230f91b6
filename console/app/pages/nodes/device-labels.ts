import type { DeviceKind } from './topology.ts';

export const DEVICE_LABELS: Readonly<Record<DeviceKind, string>> = { gpu: 'GPU', nic: 'NIC', nvme: 'NVMe' };
