/** The state of the connection in the log: one line when it changes, none while it lasts. */
import type { Log } from '@gpuaas/kit';
import { ControlPlaneError, type FailureKind } from './errors.ts';

export type Condition = 'new' | 'connected' | FailureKind;

const SENTENCES: Readonly<Record<FailureKind, string>> = {
  unreachable: 'node API unreachable; running tasks continue',
  untrusted: 'untrusted node API; sending nothing to it',
  refused: 'control plane refused this node: its certificate is revoked or expired; enroll it again with a new token',
  missing: 'control plane does not know this node',
  conflict: 'control plane cannot process the request now',
  invalid: 'control plane could not read the request: the versions may be incompatible',
  busy: 'control plane asked to retry later',
  failed: 'control plane failed to respond',
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
      if (change('connected')) log.info({ what, before, lasted_ms: lastedMs }, 'node API reachable');
    },
    failed: (err: unknown): FailureKind => {
      const kind = err instanceof ControlPlaneError ? err.kind : 'failed';
      if (change(kind)) log.warn({ what, err, condition: kind }, SENTENCES[kind]);
      return kind;
    },
  };
};
