/** The state of the connection in the log: one line when it changes, none while it lasts. */
import type { Log } from '@gpuaas/kit';
import { ControlPlaneError, type FailureKind } from './errors.ts';

export type Condition = 'new' | 'connected' | FailureKind;

const SENTENCES: Readonly<Record<FailureKind, string>> = {
  unreachable: 'the node API cannot be reached; running work goes on',
  untrusted: 'what answers is not a node API this host trusts; nothing is sent to it',
  refused: 'the platform refuses this node: its certificate is revoked or over; enrol it again with a new token',
  missing: 'the platform does not know this node',
  conflict: 'the platform cannot take this call now',
  invalid: 'the platform cannot read what this agent says: their versions may not fit',
  busy: 'the platform asks to come back later',
  failed: 'the platform failed to answer',
};

export const createConditionLog = (log: Log, what: string) => {
  let condition: Condition = 'new';
  let sinceMs = performance.now();
  const change = (next: Condition): boolean => {
    if (next === condition) return false;
    condition = next;
    sinceMs = performance.now();
    return true;
  };
  return {
    get: (): Condition => condition,
    ok: (): void => {
      const lastedMs = Math.round(performance.now() - sinceMs);
      const before = condition;
      if (change('connected')) log.info({ what, before, lasted_ms: lastedMs }, 'the node API answers');
    },
    failed: (err: unknown): FailureKind => {
      const kind = err instanceof ControlPlaneError ? err.kind : 'failed';
      if (change(kind)) log.warn({ what, err, condition: kind }, SENTENCES[kind]);
      return kind;
    },
  };
};
