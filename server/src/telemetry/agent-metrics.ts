/**
 * Metrics of the node API. A task that an agent refuses was not created by this control plane, or not for this host and
 * time.
 */
import { TASK_ERRORS, type TaskErrorCode } from '@gpuaas/contract/node';
import { Counter } from 'prom-client';
import type { Telemetry } from './telemetry.ts';

export type AgentMetrics = Readonly<{ taskRefused(code: TaskErrorCode): void }>;

export const createAgentMetrics = (telemetry: Telemetry): AgentMetrics => {
  const refused = new Counter({
    name: 'gpuaas_task_refused_total',
    help: 'Tasks that agents refused without acting.',
    labelNames: ['code'],
    registers: [telemetry.registry],
  });
  // A rate over a series that begins with its first event misses that event.
  for (const code of TASK_ERRORS) refused.inc({ code }, 0);
  return { taskRefused: (code) => refused.inc({ code }) };
};
