/** Titles of trace entries, in words of the reader and not of the table. */
import { STEP_OUTCOME_LABELS, type StepOutcome } from '@gpuaas/contract';
import { type EventType, events } from '@gpuaas/contract/events';
import { taskLabel } from '@gpuaas/contract/task-kinds';
import { stepLabel } from './workflow-steps.ts';

export const taskTitle = (kind: string, state: string): string => `${taskLabel(kind)}: ${state}`;

export const stepTitle = (workflow: string, step: string, outcome: StepOutcome): string =>
  `${stepLabel(workflow, step)}: ${STEP_OUTCOME_LABELS[outcome]}`;

const RESULTS = { success: 'succeeded', failure: 'failed', denied: 'was denied' } as const;

export const auditTitle = (action: string, result: keyof typeof RESULTS): string => `${action} ${RESULTS[result]}`;

/** States that are no adjective. */
const ALLOCATION_TITLES: Readonly<Record<string, string>> = {
  failed: 'The allocation has failed',
  release_failed: 'The cleanup of the allocation is blocked',
};

const isEventType = (type: string): type is EventType => Object.hasOwn(events, type);

/** State changes name the state; other events use the sentence of their type. */
export const eventTitle = (type: string, data: Readonly<Record<string, unknown>>): string => {
  const state = (name: string): string => String(data[name]).replaceAll('_', ' ');
  if (type === 'allocation.changed')
    return ALLOCATION_TITLES[String(data['state'])] ?? `The allocation is ${state('state')}`;
  if (type === 'allocation.power_changed') return `Allocation power is ${state('power_state')}`;
  if (type === 'node.changed') return `The node is ${state('state')}`;
  if (type === 'workflow_run.changed')
    return `The run is ${state('state')} at: ${stepLabel(String(data['workflow']), String(data['step']))}`;
  return isEventType(type) ? events[type].summary.replace(/\.$/, '') : type;
};
