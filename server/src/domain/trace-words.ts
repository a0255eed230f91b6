/** Titles of a trace: what happened, in words of whoever reads it and not of the table it came from. */
import { type EventType, events } from '@gpuaas/contract/events';
import type { TaskKind } from '@gpuaas/contract/node';
import type { StepOutcome } from './workflow.ts';
import { stepLabel } from './workflow-steps.ts';

/** Typed by the contract: a kind without words does not compile. */
const TASKS: Readonly<Record<TaskKind, string>> = {
  'agent.update': 'Update the agent',
  'allocation.deprovision_user': 'Take access away',
  'allocation.install_authorized_keys': 'Tell the machine its keys',
  'allocation.provision_user': 'Set up access',
  'diag.health_probe': 'Probe the health',
  'image.evict': 'Remove an image',
  'image.pull': 'Fetch an image',
  'image.verify': 'Check an image',
  'node.cleanup': 'Erase the disks',
  'slice.bundle_lease': 'Set the GPUs aside',
  'slice.cleanup': 'Erase the disks',
  'slice.image_clone': 'Copy the image',
  'slice.orphan_remove': 'Remove what nobody claims',
  'slice.reconcile': 'Compare what runs with what is claimed',
  'slice.topology_discover': 'Discover the hardware',
  'slice.vm_readiness': 'Boot',
  'slice.vm_reboot': 'Reboot the machine',
  'slice.vm_start': 'Start the machine',
  'slice.vm_stop': 'Stop the machine',
  'stream.open': 'Open a session',
};

export const taskWords = (kind: string): string => (TASKS as Readonly<Record<string, string>>)[kind] ?? kind;

export const taskTitle = (kind: string, state: string): string => `${taskWords(kind)}: ${state}`;

const OUTCOMES: Readonly<Record<StepOutcome, string>> = {
  next: 'done',
  wait: 'waited',
  done: 'completed',
  stuck: 'stopped here',
  error: 'failed',
  timeout: 'took too long',
  cancelled: 'cancelled',
  retried: 'started again by an operator',
};

export const stepTitle = (workflow: string, step: string, outcome: StepOutcome): string =>
  `${stepLabel(workflow, step)}: ${OUTCOMES[outcome]}`;

const RESULTS = { success: 'succeeded', failure: 'failed', denied: 'was denied' } as const;

export const auditTitle = (action: string, result: keyof typeof RESULTS): string => `${action} ${RESULTS[result]}`;

const isEventType = (type: string): type is EventType => Object.hasOwn(events, type);

/** What came into a state says which; the rest is told by the sentence of its type. */
export const eventTitle = (type: string, data: Readonly<Record<string, unknown>>): string => {
  const state = (name: string): string => String(data[name]).replaceAll('_', ' ');
  if (type === 'allocation.changed') return `The allocation is ${state('state')}`;
  if (type === 'allocation.power_changed') return `The power of the allocation is ${state('power_state')}`;
  if (type === 'node.changed') return `The node is ${state('state')}`;
  if (type === 'workflow_run.changed')
    return `The run is ${state('state')} at: ${stepLabel(String(data['workflow']), String(data['step']))}`;
  return isEventType(type) ? events[type].summary.replace(/\.$/, '') : type;
};
