/**
 * Records tasks that an agent refused before it did anything: one audit row each, a log line and a count for an alert.
 * A report has no other effect: a forged task must not end a real one.
 */
import type { NodeBody, NodeResponse } from '@gpuaas/contract/node';
import type { Log } from '@gpuaas/kit';
import { insertAuditLog } from '../db/audit.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import type { AgentMetrics } from '../telemetry/agent-metrics.ts';
import type { Caller } from './refusal-audit.ts';

export type RefusalDeps = Readonly<{ database: Database; log: Log; metrics: AgentMetrics }>;

export const recordRefusals = async (
  { database, log, metrics }: RefusalDeps,
  caller: Caller,
  nodeId: string,
  { refusals }: NodeBody<'refusalReport'>,
): Promise<NodeResponse<'refusalReport'>> => {
  await database.write(PLATFORM, async (tx) => {
    for (const { task_id, error_code, ...refusal } of refusals)
      await insertAuditLog(tx, {
        organization_id: null,
        project_id: null,
        actor_kind: 'system',
        actor_id: nodeId,
        actor_role: null,
        source_ip: caller.source_ip,
        user_agent: caller.user_agent,
        action: 'task.refuse',
        target_kind: 'node_task',
        target_id: task_id,
        result: 'denied',
        error_code,
        policy: 'agents run only signed tasks of their own node, attempt and generation',
        correlation_id: caller.correlation_id,
        metadata: { node_id: nodeId, ...refusal },
      });
  });
  for (const refusal of refusals) {
    metrics.taskRefused(refusal.error_code);
    log.warn({ node_id: nodeId, ...refusal, correlation_id: caller.correlation_id }, 'agent refused a task');
  }
  return { is_accepted: true };
};
