/**
 * Reports health again and again: on a rhythm, so that the platform knows that somebody looks, and at once when what there
 * is to say has changed. A look that fails or a report that is not taken is tried again at the next look.
 */
import type { HealthReport } from '@gpuaas/contract/node';
import { type Log, pause } from '@gpuaas/kit';
import { askedMs } from '../control-plane/errors.ts';
import { type Probe, probeHealth } from './probe.ts';

export type HealthLoop = Probe &
  Readonly<{
    send(report: HealthReport): Promise<unknown>;
    log: Log;
    signal: AbortSignal;
    /** A report at least this often. */
    every_ms?: number;
    /** How often the host is looked at. */
    look_ms?: number;
  }>;

const EVERY_MS = 30_000;
const LOOK_MS = 10_000;

/** What a change of makes a report due: not the times in it. */
const gist = (report: HealthReport): string =>
  JSON.stringify([report.alerts.map(({ since: _since, ...alert }) => alert), report.successes]);

/** Returns when the signal is aborted. */
export const runHealthLoop = async (loop: HealthLoop): Promise<void> => {
  let lastSent: Readonly<{ gist: string; at: number }> | null = null;
  while (!loop.signal.aborted) {
    let restMs = loop.look_ms ?? LOOK_MS;
    try {
      const report = await probeHealth(loop);
      const at = Date.parse(report.observed_at);
      const isDue = lastSent === null || at - lastSent.at >= (loop.every_ms ?? EVERY_MS);
      if (isDue || lastSent?.gist !== gist(report)) {
        await loop.send(report);
        lastSent = { gist: gist(report), at };
      }
    } catch (err) {
      loop.log.warn({ err }, 'failed to report health');
      restMs = Math.max(restMs, askedMs(err));
    }
    await pause(restMs, loop.signal);
  }
};
