/** Small tools every process uses, without domain logic. */
export { type Clock, systemClock } from './clock.ts';
export { ConfigError, ConfigReader, type Env } from './config.ts';
export { mintId } from './id.ts';
export { InvariantError, invariant } from './invariant.ts';
export { createLog, type HostRole, type Log, silentLog } from './log.ts';
export { createLoopWatch, type Loop, type LoopAge, type LoopWatch, reportProgress } from './loop-watch.ts';
export { findProcessCommand, findProcessIdentity, isProcessAlive } from './process.ts';
export { redactFields, redactText } from './redact.ts';
export { backoffMs, pause, settlesWithin } from './retry.ts';
export { createShutdown, type Shutdown, stopOnSignals } from './shutdown.ts';
