/** A request as the router would pass it to a service, without a router. */
import { randomUUID } from 'node:crypto';
import { silentLog, systemClock } from '@gpuaas/kit';
import type { Config } from '../../server/src/config.ts';
import type { Ctx, Principal } from '../../server/src/context.ts';
import type { Database } from '../../server/src/db/client.ts';
import { createSecrets } from '../../server/src/ports/secrets/secrets.ts';
import type { Tenant } from './fleet.ts';

export const PRINCIPAL: Principal = {
  kind: 'user',
  id: 'usr_bench',
  name: 'bench',
  email: null,
  email_verified: false,
  platform_role: null,
  is_pending: false,
  tenants: new Map(),
  projects: new Map(),
  audit_organization_id: null,
  home: null,
  credential: { kind: 'oidc', id: null, scopes: ['all'], project_id: null, expires_at: null, auth_time: null },
};

const NO_STREAMS: Ctx['deps']['events'] = { follow: () => Promise.reject(new Error('no streams here')) };

/** Created once per process, as in the server. */
const log = silentLog();
const secrets = createSecrets({ kind: 'platform', keys: new Map([[1, Buffer.alloc(32)]]), active: () => 1 });

export const contextFor = (database: Database, tenant: Tenant, operation: string): Ctx => {
  return {
    deps: { config: {} as Config, database, clock: systemClock, log, secrets, events: NO_STREAMS },
    log,
    principal: PRINCIPAL,
    correlation_id: randomUUID(),
    operation,
    source_ip: '127.0.0.1',
    user_agent: 'bench',
    ...tenant,
  };
};
