/** Environment settings of `make up`; the server reads the rest itself (server/src/config.ts). */

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigReader, type Env } from '@gpuaas/kit';

export const REPO = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const DEFAULT_STATE_DIR = resolve(REPO, '.gpuaas');

export type Settings = Readonly<{
  stateDir: string;
  /** The default directory is known to be ours; a configured one is deleted only if the lab created it. */
  isDefaultStateDir: boolean;
  host: string;
  port: number;
  /** Where agents of hosts connect. */
  nodeApiPort: number;
  /** Where clients of sessions connect, and where agents connect for them. */
  gatewayPort: number;
  gatewayAgentPort: number;
  gatewayUrl: string;
  publicUrl: string;
  /** An external PostgreSQL, used instead of the embedded one. */
  databaseUrl: string | undefined;
  /** An external issuer; undefined when the embedded one is used. */
  issuer: string | undefined;
}>;

export const readSettings = (env: Env): Settings => {
  const read = new ConfigReader(env);
  const stateDir = resolve(REPO, read.text('GPUAAS_STATE_DIR', DEFAULT_STATE_DIR));
  const port = read.integer('GPUAAS_PORT', 8080, { min: 1, max: 65535 });
  // Concurrent labs get different ports from one setting.
  const besides = (own: number, offset: number): number => {
    if (port === 8080) return own;
    return port + offset <= 65_535 ? port + offset : port - offset;
  };
  const portOf = (name: string, own: number, offset: number): number =>
    read.integer(name, besides(own, offset), { min: 1, max: 65535 });
  const publicUrl = (read.url('GPUAAS_PUBLIC_URL')?.href ?? `http://localhost:${port}`).replace(/\/$/, '');
  const gatewayPort = portOf('GPUAAS_GATEWAY_PORT', 8444, 2);
  const settings: Settings = {
    stateDir,
    isDefaultStateDir: stateDir === DEFAULT_STATE_DIR,
    host: read.text('GPUAAS_HOST', '127.0.0.1'),
    port,
    nodeApiPort: portOf('GPUAAS_NODE_API_PORT', 8443, 1),
    gatewayPort,
    gatewayAgentPort: portOf('GPUAAS_GATEWAY_AGENT_PORT', 8446, 3),
    gatewayUrl: read.text('GPUAAS_GATEWAY_PUBLIC_URL', `ws://${new URL(publicUrl).hostname}:${gatewayPort}`),
    publicUrl,
    databaseUrl: read.optional('DATABASE_URL'),
    issuer: read.optional('GPUAAS_OIDC_ISSUER'),
  };
  read.finish();
  return settings;
};
