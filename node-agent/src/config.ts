/** Settings of the agent: flags before environment before /etc/gpuaas/node-agent.env. */
import { parseEnv } from 'node:util';
import { WIPE_METHODS, type WipeMethod } from '@gpuaas/contract/node';
import { ConfigReader, type Env } from '@gpuaas/kit';
import { readIfThere } from './control-plane/durable.ts';
import { normalizeFingerprint } from './control-plane/identity.ts';
import type { HypervisorConfig } from './host/linux/hypervisor-config.ts';
import { readHypervisorConfig } from './host/linux/hypervisor-settings.ts';
import type { NetworkConfig } from './host/linux/network-config.ts';
import { readNetworkConfig } from './host/linux/network-settings.ts';
import type { DeviceIds } from './topology/device-ids.ts';

export const ENV_FILE = '/etc/gpuaas/node-agent.env';

export type Settings = Readonly<{
  url: URL | undefined;
  ca_sha256: string | undefined;
  state: string;
  /** Where versions are installed; set by the launcher. */
  home: string | undefined;
  log_level: string;
  wait_s: number;
  /** How often the host's health is checked. */
  health_s: number;
  /** The settings of the host port: see host/linux. */
  images: Readonly<{ dir: string; source?: string; max_bytes?: number; evicts_unused: boolean }>;
  wipe_minimum: WipeMethod;
  devices: DeviceIds;
  network: NetworkConfig;
  hypervisor: HypervisorConfig;
}>;

export type Flags = Readonly<{ url?: string; ca_sha256?: string; state?: string }>;

const GIB = 1024 ** 3;
/** A disk that the host begins to use is reported within a minute, with time for the check and the report. */
export const HEALTH_MAX_S = 45;

const DEVICE_ID = /^[0-9a-f]{4}:[0-9a-f]{4}$/;

const readIds = (read: ConfigReader, name: string): readonly string[] => {
  const ids = (read.optional(name) ?? '')
    .split(',')
    .map((one) => one.trim().toLowerCase())
    .filter((one) => one !== '');
  if (!ids.every((one) => DEVICE_ID.test(one)))
    read.problem(name, 'must be ids as vendor:device in hexadecimal, such as 10de:2335, comma-separated');
  return ids;
};

/** The GPUs and fabric functions that the site configures. */
export const readDeviceIds = (read: ConfigReader): DeviceIds => {
  const accelerators = readIds(read, 'GPUAAS_NODE_GPU_IDS');
  const fabric_functions = readIds(read, 'GPUAAS_NODE_FABRIC_IDS');
  if (fabric_functions.some((one) => accelerators.includes(one)))
    read.problem('GPUAAS_NODE_FABRIC_IDS', 'must not repeat IDs of GPUAAS_NODE_GPU_IDS');
  return { accelerators, fabric_functions };
};

export const readEnvFile = async (path: string): Promise<Env> => parseEnv((await readIfThere(path)) ?? '');

export const readSettings = (env: Env, flags: Flags = {}): Settings => {
  const given = {
    ...env,
    ...(flags.url === undefined ? {} : { GPUAAS_NODE_API_URL: flags.url }),
    ...(flags.ca_sha256 === undefined ? {} : { GPUAAS_NODE_CA_SHA256: flags.ca_sha256 }),
    ...(flags.state === undefined ? {} : { GPUAAS_NODE_STATE_DIR: flags.state }),
  };
  const read = new ConfigReader(given);
  const url = read.url('GPUAAS_NODE_API_URL');
  if (url !== undefined && url.protocol !== 'https:') read.problem('GPUAAS_NODE_API_URL', 'must begin with https://');
  const fingerprint = read.optional('GPUAAS_NODE_CA_SHA256');
  if (fingerprint !== undefined && !/^[0-9a-f]{64}$/.test(normalizeFingerprint(fingerprint)))
    read.problem('GPUAAS_NODE_CA_SHA256', 'must be a SHA-256 fingerprint: 64 hexadecimal digits');
  const source = read.optional('GPUAAS_NODE_IMAGE_SOURCE');
  if (source !== undefined && !/^(?:\/|https?:\/\/)/.test(source))
    read.problem('GPUAAS_NODE_IMAGE_SOURCE', 'must be an absolute path or begin with https:// or http://');
  const cacheGib = read.integer('GPUAAS_NODE_IMAGE_CACHE_GIB', 0, { min: 0, max: 1_000_000 });
  const settings: Settings = {
    url,
    ca_sha256: fingerprint,
    state: read.text('GPUAAS_NODE_STATE_DIR', '/var/lib/gpuaas/node-agent'),
    home: read.optional('GPUAAS_NODE_HOME'),
    log_level: read.oneOf('GPUAAS_LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const, 'info'),
    images: {
      dir: read.text('GPUAAS_NODE_IMAGE_DIR', '/var/lib/gpuaas/images'),
      ...(source === undefined ? {} : { source }),
      ...(cacheGib === 0 ? {} : { max_bytes: cacheGib * GIB }),
      evicts_unused: read.oneOf('GPUAAS_NODE_IMAGE_EVICT', ['unused', 'never'] as const, 'unused') === 'unused',
    },
    network: readNetworkConfig(read),
    hypervisor: readHypervisorConfig(read),
    devices: readDeviceIds(read),
    wipe_minimum: read.oneOf('GPUAAS_NODE_WIPE_MINIMUM', WIPE_METHODS, 'blkdiscard'),
    health_s: read.integer('GPUAAS_NODE_HEALTH_S', 10, { min: 1, max: HEALTH_MAX_S }),
    wait_s: read.integer('GPUAAS_NODE_WAIT_S', 15, { min: 1, max: 30 }),
  };
  read.finish();
  return settings;
};
