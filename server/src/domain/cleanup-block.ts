/**
 * The reason on a slot whose cleanup is blocked: the cause as the control plane and the host state it, and what to do
 * next. A tenant sees only the first sentence, which names no host and no device.
 */
import { RELEASE_ALLOCATION } from './workflow-steps.ts';

export type LastFailure = Readonly<{ kind: string; state_reason: string | null }>;

const STOPS: ReadonlySet<string> = new Set(Object.values(RELEASE_ALLOCATION.steps.stopRuntime.task));
const REASON_MAX = 400;

const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

export const blockedReason = (allocationId: string, reason: string, failure: LastFailure | undefined): string => {
  const hostReason = failure?.state_reason ?? null;
  const command = `gpuaas admin allocation force-cleanup ${allocationId}`;
  const next =
    failure !== undefined && STOPS.has(failure.kind)
      ? `Next: verify on the host that the VM is off, then run ${command}. Add --runtime-verified-absent if the VM no longer exists.`
      : `Next: fix the cause, then run ${command}.`;
  return [
    reason,
    ...(hostReason === null || hostReason === reason ? [] : [asSentence(hostReason.slice(0, REASON_MAX))]),
    next,
  ].join(' ');
};
