/** One launch attempt over HTTP, and its outcome. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type Agent, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { REGION, SLICE_SKU } from '../placement/fleet.ts';
import type { Member } from '../placement/tenants.ts';

export type Attempt =
  | Readonly<{ kind: 'won'; allocation_id: string }>
  | Readonly<{ kind: 'lost'; code: string; has_reason: boolean }>;

type Problem = Readonly<{ code: string; detail?: string; reasons?: readonly unknown[] }>;

/** Without capacity the response lists the holders; on contention it has a retry time. */
const hasReason = (body: Problem, retryAfter: string | undefined): boolean => {
  if ((body.detail ?? '') === '') return false;
  if (body.code === 'insufficient_capacity') return (body.reasons ?? []).length > 0;
  return body.code === 'unavailable' && Number(retryAfter) > 0;
};

export const attempt = async (agent: Agent, url: string, member: Member, gpuCount: number): Promise<Attempt> => {
  const key = randomUUID();
  const sent = request(`${url}/api/v1/projects/${member.project_id}/allocations`, {
    agent,
    method: 'POST',
    headers: { authorization: `Bearer ${member.token}`, 'content-type': 'application/json', 'idempotency-key': key },
  });
  sent.end(JSON.stringify({ name: `a-${key}`, sku_name: SLICE_SKU, region_name: REGION, gpu_count: gpuCount }));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const body = await json(response);
  if (response.statusCode === 202) return { kind: 'won', allocation_id: (body as { id: string }).id };
  const problem = body as Problem;
  return { kind: 'lost', code: problem.code, has_reason: hasReason(problem, response.headers['retry-after']) };
};
