/**
 * What launches that fail on a host mean for it. Each one cools the host down in the order of placement and is shown as an
 * alert. A launch that succeeds there, or half an hour without another failure, ends that. After a limit the alert stops
 * placement, under the circuit breaker like any other alert, and only an operator lifts it: a host that fails one launch
 * after the other must not take the next.
 */
import type { HealthReport } from '@gpuaas/contract/node';
import { done, firstOf, type Refusal } from './refusal.ts';

/** The source of the report; agents cannot report under it. */
export const LAUNCH_SOURCE = 'launches';
export const RESERVED_SOURCE = `Source "${LAUNCH_SOURCE}" is reserved for the control plane.`;
export const LAUNCH_FAILURES_MAX = 3;
export const COOLDOWN_MIN = 30;

const MESSAGE_MAX = 500;

/** Placement on the host has stopped. */
export const isStopped = (failures: number): boolean => failures >= LAUNCH_FAILURES_MAX;

const sentenceOf = (failures: number, reason: string): string => {
  const count = failures === 1 ? 'A launch' : `${failures} launches in a row`;
  const then = isStopped(failures)
    ? 'Nothing is placed on the host until an operator clears the failures.'
    : 'The host is used last for new launches.';
  return `${count} failed on this host. ${then} Last failure: ${reason}`.slice(0, MESSAGE_MAX);
};

/** The report of the control plane about its launches on the host. */
export const launchReport = (failures: number, reason: string, at: string): HealthReport => ({
  source: LAUNCH_SOURCE,
  observed_at: at,
  successes: failures === 0 ? ['launch'] : [],
  alerts:
    failures === 0
      ? []
      : [
          {
            id: 'launch_failures',
            target: 'node',
            since: at,
            message: sentenceOf(failures, reason),
            tenant_message: null,
            classifications: isStopped(failures) ? ['prevent_allocations'] : [],
          },
        ],
});

export const clearRefusal = (failures: number): Refusal | null =>
  firstOf(failures === 0 && done('No launches have failed on the node.'));
