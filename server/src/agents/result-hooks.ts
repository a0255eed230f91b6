/** Who is told of a host's answer, in the transaction that takes it: one line per kind of task, and one for health. */
import type { HealthReport, TaskKind, TaskOutput } from '@gpuaas/contract/node';
import type { AgentTaskRow } from '../db/agent-task.ts';
import type { Tx } from '../db/client.ts';
import { recordHealth } from '../services/health-report.ts';
import { recordDiscovery } from '../services/topology.ts';

export type ResultHooks = Readonly<{
  /**
   * For a completed task whose output has the shape of its kind. A sentence says why the answer does not hold: the
   * task has then failed. What is thrown fails the transaction, and the agent reports again.
   */
  tasks: Readonly<{
    [K in TaskKind]?: (tx: Tx, task: AgentTaskRow, output: TaskOutput<K>) => Promise<string | undefined>;
  }>;
  /** For reports of the host's own checks; the answer to `diag.health_probe` carries one, too. False: it does not count. */
  health?: (tx: Tx, nodeId: string, report: HealthReport) => Promise<boolean>;
}>;

export const RESULT_HOOKS: ResultHooks = {
  tasks: {
    'slice.topology_discover': async (tx, task, output) => {
      await recordDiscovery(tx, task, output);
      return undefined;
    },
  },
  health: recordHealth,
};
