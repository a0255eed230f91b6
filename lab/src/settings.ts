/** What `make up` may be told by the environment; the server reads the rest itself (server/src/config.ts). */

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigReader, type Env } from '@gpuaas/kit';

export const REPO = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const DEFAULT_STATE_DIR = resolve(REPO, '.gpuaas');

export type Settings = Readonly<{
  stateDir: string;
  /** The default folder is known to be ours; one named by hand is cleared only if we made it. */
  isDefaultStateDir: boolean;
  host: string;
  port: number;
  /** Where agents of hosts connect. */
  nodeApiPort: number;
  publicUrl: string;
  /** An external PostgreSQL, used instead of the embedded one. */
  databaseUrl: string | undefined;
  /** An external issuer; undefined when the embedded one signs people in. */
  issuer: string | undefined;
}>;

export const readSettings = (env: Env): Settings => {
  const read = new ConfigReader(env);
  const stateDir = resolve(REPO, read.text('GPUAAS_STATE_DIR', DEFAULT_STATE_DIR));
  const port = read.integer('GPUAAS_PORT', 8080, { min: 1, max: 65535 });
  const settings: Settings = {
    stateDir,
    isDefaultStateDir: stateDir === DEFAULT_STATE_DIR,
    host: read.text('GPUAAS_HOST', '127.0.0.1'),
    port,
    // Labs beside each other have ports of their own without being told twice.
    nodeApiPort: read.integer('GPUAAS_NODE_API_PORT', port === 8080 ? 8443 : port + (port < 65_535 ? 1 : -1), {
      min: 1,
      max: 65535,
    }),
    publicUrl: (read.url('GPUAAS_PUBLIC_URL')?.href ?? `http://localhost:${port}`).replace(/\/$/, ''),
    databaseUrl: read.optional('DATABASE_URL'),
    issuer: read.optional('GPUAAS_OIDC_ISSUER'),
  };
  read.finish();
  return settings;
};
