/** States of a host task. An open task may still get a result; a started one may be in the agent's hands. */
export const OPEN_TASK_STATES = ['queued', 'dispatched', 'running'] as const;
export const STARTED_TASK_STATES = ['dispatched', 'running'] as const;

const isIn = (states: readonly string[], state: string): boolean => states.includes(state);

export const isTaskOpen = (state: string): boolean => isIn(OPEN_TASK_STATES, state);
export const isTaskStarted = (state: string): boolean => isIn(STARTED_TASK_STATES, state);
