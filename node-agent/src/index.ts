/** What the lab and tests use of the agent: many in one process, each on a host of its own. */
export { type Agent, type AgentConfig, type AgentOptions, createAgent } from './agent.ts';
export { type EnrollOptions, enroll } from './control-plane/enroll.ts';
export { ControlPlaneError } from './control-plane/errors.ts';
export { readEnrollment } from './control-plane/identity.ts';
export { type Host, HostError } from './host/host.ts';
export type { Boundary } from './runner.ts';
export { handlers } from './tasks/index.ts';
export type { TaskContext, TaskHandler, TaskHandlers } from './tasks/task.ts';
