/** States of a host task. An open task may still get a result; the agent may hold one that was handed out. */
export const OPEN_TASK_STATES = ['queued', 'dispatched', 'running'] as const;
export const HANDED_OUT_TASK_STATES = ['dispatched', 'running'] as const;

export const isTaskOpen = (state: string): boolean => (OPEN_TASK_STATES as readonly string[]).includes(state);
