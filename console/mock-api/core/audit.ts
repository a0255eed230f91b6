/** One row for every mutation, whether it succeeded, failed or was not allowed. */
import type { Operation } from '@gpuaas/contract';
import type { Decision, Principal } from './authorize.ts';
import type { AuditRow } from './rows.ts';
import type { World } from './world.ts';

export type Draft = {
  target: { kind: string; id: string } | null;
  metadata: Record<string, unknown>;
  organization_id: string | null;
  project_id: string | null;
};

export type AuditedRequest = Readonly<{
  principal: Principal | null;
  operation: Operation;
  params: Readonly<Record<string, string>>;
  correlation_id: string;
  decision: Decision | null;
}>;

const SOURCE_IP = '203.0.113.24';

const nounOf = (action: string | null): string | null => action?.split('.').slice(0, -1).join('.') ?? null;

const idIn = (body: unknown): string | null =>
  typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string' ? body.id : null;

export const insertAudit = (
  world: World,
  asked: AuditedRequest,
  outcome: Readonly<{ result: AuditRow['result']; error_code: string | null; draft: Draft; body?: unknown }>,
): void => {
  const { principal, operation, decision } = asked;
  const { draft } = outcome;
  const made = operation.method === 'POST' ? idIn(outcome.body) : null;
  world.audit.push({
    id: world.mint('audit_log'),
    created_at: world.ago(),
    organization_id: draft.organization_id,
    project_id: draft.project_id,
    actor_kind: principal === null ? 'anonymous' : 'user',
    actor_id: principal?.id ?? null,
    actor_role: decision?.role ?? null,
    source_ip: SOURCE_IP,
    user_agent: globalThis.navigator?.userAgent ?? null,
    action: operation.audit ?? '',
    target_kind: draft.target?.kind ?? nounOf(operation.audit),
    target_id: draft.target?.id ?? made ?? Object.values(asked.params).at(-1) ?? null,
    result: outcome.result,
    error_code: outcome.error_code,
    policy: decision?.policy ?? 'no role of the caller allows it',
    correlation_id: asked.correlation_id,
    metadata: { ...draft.metadata },
    sealed: false,
  });
};
