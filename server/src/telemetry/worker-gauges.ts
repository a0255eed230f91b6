/** Gauges of the worker from what its reconcilers counted last: a scrape runs no query for them. */
import type { NodeCounter } from '../reconcilers/count-nodes.ts';
import type { HeadsDisk } from '../reconcilers/measure-heads-disk.ts';
import type { Telemetry } from './telemetry.ts';

export const addWorkerGauges = (
  telemetry: Telemetry,
  { nodes, headsDisk }: Readonly<{ nodes: NodeCounter; headsDisk: HeadsDisk }>,
): void => {
  telemetry.gauge('gpuaas_nodes', 'Nodes by state, except retired and deleted.', ['state'], async () =>
    [...(nodes.counts()?.by_state ?? [])].map(([state, value]) => ({ labels: { state }, value })),
  );
  telemetry.gauge('gpuaas_nodes_unseen', 'Active nodes whose agent sends no heartbeats.', [], async () => {
    const counts = nodes.counts();
    return counts === undefined ? [] : [{ labels: {}, value: counts.unseen }];
  });
  telemetry.gauge(
    'gpuaas_nodes_certificate_ending',
    'Active nodes whose newest certificate ends within 6 hours.',
    [],
    async () => {
      const counts = nodes.counts();
      return counts === undefined ? [] : [{ labels: {}, value: counts.certificates_ending }];
    },
  );
  telemetry.gauge(
    'gpuaas_audit_heads_disk_free_ratio',
    'Free part of the file system of the audit heads file.',
    [],
    async () => {
      const ratio = headsDisk.freeRatio();
      return ratio === undefined ? [] : [{ labels: {}, value: ratio }];
    },
  );
};
