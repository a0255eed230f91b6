/** `diag.health_probe`: the periodic health report, immediately. */

import { probeHealth } from '../health/probe.ts';
import type { TaskHandler } from './task.ts';
import { withinTime } from './task-locks.ts';

export const healthProbe: TaskHandler<'diag.health_probe'> = async (ctx) => ({
  report: await withinTime(ctx.signal, 'checking the host', probeHealth(ctx)),
});
