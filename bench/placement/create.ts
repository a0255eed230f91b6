/** Creates without HTTP: the real service inside the real mutation pipeline, as many at once as there are clients. */
import { randomUUID } from 'node:crypto';
import { api } from '@gpuaas/contract';
import { silentLog, systemClock } from '@gpuaas/kit';
import type { Config } from '../../server/src/config.ts';
import type { Ctx, Principal } from '../../server/src/context.ts';
import type { Database } from '../../server/src/db/client.ts';
import { createEventHub } from '../../server/src/ports/events/hub.ts';
import { createSecrets } from '../../server/src/ports/secrets/secrets.ts';
import { create } from '../../server/src/services/allocation.ts';
import { mutate } from '../../server/src/services/pipeline.ts';
import { REGION, SLICE_SKU, tenant } from './fleet.ts';

const principal: Principal = {
  kind: 'user',
  id: 'usr_bench',
  name: 'bench',
  email: null,
  email_verified: false,
  platform_role: null,
  tenants: new Map(),
  projects: new Map(),
  audit_organization_id: null,
  home: null,
  credential: { kind: 'oidc', id: null, scopes: ['all'], project_id: null, expires_at: null },
};

let calls = 0;

export const createOnce = async (database: Database, gpuCount: number): Promise<void> => {
  const n = calls++;
  const log = silentLog();
  const bound = tenant(n);
  const ctx: Ctx = {
    deps: {
      config: {} as Config,
      database,
      clock: systemClock,
      log,
      secrets: createSecrets(Buffer.alloc(32)),
      events: createEventHub(),
    },
    log,
    principal,
    correlation_id: randomUUID(),
    operation: 'allocationCreate',
    source_ip: '127.0.0.1',
    user_agent: 'bench',
    ...bound,
  };
  const params = { project_id: bound.project_id };
  await mutate(
    {
      ctx,
      operation: api.allocationCreate,
      scope: { tenant_id: bound.organization_id, principal_id: principal.id },
      role: 'project:member',
      policy: 'project:member holds allocation.create',
      params,
      idempotency_key: null,
      fingerprint: '',
    },
    (write) =>
      create(write, {
        params,
        query: {},
        body: { name: `a-${n}-${process.pid}`, sku_name: SLICE_SKU, region_name: REGION, gpu_count: gpuCount },
        if_match: undefined,
        last_event_id: undefined,
      }),
  );
};

/** Creates per second of so many clients over so many seconds. */
export const createRate = async (
  database: Database,
  clients: number,
  seconds: number,
  gpuCount: number,
): Promise<number> => {
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  let done = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < until) {
        await createOnce(database, gpuCount);
        done += 1;
      }
    }),
  );
  return (done * 1000) / (performance.now() - startedAt);
};
