/** Creates without HTTP: the real service inside the real mutation pipeline, one at a time per client. */
import { api } from '@gpuaas/contract';
import type { Database } from '../../server/src/db/client.ts';
import { mutate } from '../../server/src/pipeline/pipeline.ts';
import { create } from '../../server/src/services/allocation.ts';
import { contextFor, PRINCIPAL } from './context.ts';
import { REGION, SLICE_SKU, type Tenant, tenant } from './fleet.ts';

let calls = 0;

export type Made = Tenant & Readonly<{ id: string }>;

export const createOnce = async (database: Database, gpuCount: number): Promise<Made> => {
  const n = calls++;
  const bound = tenant(n);
  const ctx = contextFor(database, bound, 'allocationCreate');
  const params = { project_id: bound.project_id };
  const { body } = await mutate(
    {
      ctx,
      operation: api.allocationCreate,
      scope: { tenant_id: bound.organization_id, principal_id: PRINCIPAL.id },
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
  return { ...bound, id: (body as Readonly<{ id: string }>).id };
};

/** Creates per second for this number of clients and seconds. */
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
