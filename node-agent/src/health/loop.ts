/**
 * Reports health periodically, so that the control plane knows that checks run, and immediately when the result
 * changed. A failed check or report is retried at the next interval.
 */
import type { HealthReport } from '@gpuaas/contract/node';
import { type Log, pause } from '@gpuaas/kit';
import { retryAfterMs } from '../control-plane/errors.ts';
import { type Probe, probeHealth } from './probe.ts';

export type HealthLoop = Probe &
  Readonly<{
    send(report: HealthReport): Promise<unknown>;
    log: Log;
    signal: AbortSignal;
    /** A report at least this often. */
    every_ms?: number;
    /** How often the host is checked. */
    interval_ms?: number;
  }>;

const EVERY_MS = 30_000;
const INTERVAL_MS = 10_000;

/** A change of this makes a report due; times in the report do not. */
const contentOf = (report: HealthReport): string =>
  JSON.stringify([report.alerts.map(({ since: _since, ...alert }) => alert), report.successes]);

/** Returns when the signal is aborted. */
export const runHealthLoop = async (loop: HealthLoop): Promise<void> => {
  let lastSent: Readonly<{ content: string; at: number }> | null = null;
  while (!loop.signal.aborted) {
    let delayMs = loop.interval_ms ?? INTERVAL_MS;
    try {
      const report = await probeHealth(loop);
      const at = Date.parse(report.observed_at);
      const isDue = lastSent === null || at - lastSent.at >= (loop.every_ms ?? EVERY_MS);
      if (isDue || lastSent?.content !== contentOf(report)) {
        await loop.send(report);
        lastSent = { content: contentOf(report), at };
      }
    } catch (err) {
      loop.log.warn({ err }, 'failed to report health');
      delayMs = Math.max(delayMs, retryAfterMs(err));
    }
    await pause(delayMs, loop.signal);
  }
};
