/** Events about nodes. Nodes belong to no tenant, so operators and integrations receive them and projects do not. */
import type { EventData } from '@gpuaas/contract/events';

type NodeEventType =
  | 'node.changed'
  | 'node.drift_changed'
  | 'node.host_refused'
  | 'node.launch_failures_changed'
  | 'node.rebooted';

type NodeEvent<T extends NodeEventType> = Readonly<{
  event_type: T;
  organization_id: null;
  project_id: null;
  subject: string;
  data: EventData<T>;
  correlation_id: string;
}>;

const about = <T extends NodeEventType>(event_type: T, data: EventData<T>, correlation_id: string): NodeEvent<T> => ({
  event_type,
  organization_id: null,
  project_id: null,
  subject: data.node_id,
  data,
  correlation_id,
});

export const nodeChanged = (data: EventData<'node.changed'>, correlationId: string): NodeEvent<'node.changed'> =>
  about('node.changed', data, correlationId);

export const nodeRebooted = (data: EventData<'node.rebooted'>, correlationId: string): NodeEvent<'node.rebooted'> =>
  about('node.rebooted', data, correlationId);

export const nodeHostRefused = (
  data: EventData<'node.host_refused'>,
  correlationId: string,
): NodeEvent<'node.host_refused'> => about('node.host_refused', data, correlationId);

export const nodeDrift = (
  data: EventData<'node.drift_changed'>,
  correlationId: string,
): NodeEvent<'node.drift_changed'> => about('node.drift_changed', data, correlationId);

export const nodeLaunchFailures = (
  data: EventData<'node.launch_failures_changed'>,
  correlationId: string,
): NodeEvent<'node.launch_failures_changed'> => about('node.launch_failures_changed', data, correlationId);
