/** The part of the agent that the lab and tests use: many agents in one process, each on its own host. */
export { type Agent, type AgentConfig, type AgentOptions, createAgent } from './agent.ts';
export { type EnrollOptions, enroll } from './control-plane/enroll.ts';
export { ControlPlaneError } from './control-plane/errors.ts';
export { readEnrollment } from './control-plane/identity.ts';
export { type Host, HostError } from './host/host.ts';
export type { Boundary } from './runner.ts';
export { handlers } from './tasks/index.ts';
export type { TaskContext, TaskHandler, TaskHandlers } from './tasks/task.ts';
