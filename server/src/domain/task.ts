/** States of a host task. An open task may still get a result; a dispatched one may be in the agent's journal. */
export const OPEN_TASK_STATES = ['queued', 'dispatched', 'running'] as const;
export const HANDED_OUT_TASK_STATES = ['dispatched', 'running'] as const;

export const isTaskOpen = (state: string): boolean => (OPEN_TASK_STATES as readonly string[]).includes(state);
