/**
 * Which sessions are allowed. A shell, the SSH port and forwards need a running VM. The serial console also serves a VM
 * that does not run, so it can be viewed as soon as a slice has a node. Bare metal has no serial console. A viewer can
 * watch the console without input, and so does everyone until the slice is active: what its VM does until then is held
 * against the host, and who types at the boot loader could make it fail on one healthy host after another.
 */
import type { SESSION_STATES } from '@gpuaas/contract';
import type { SessionKind } from '@gpuaas/contract/stream';
import type { AllocationState } from './allocation.ts';
import type { PowerState } from './power.ts';
import { REFUSALS } from './sentences.ts';

/** States in which a client is connected or connecting. */
export const LIVE_SESSION_STATES = ['opening', 'open'] as const satisfies readonly (typeof SESSION_STATES)[number][];

export const TICKET_S = 30;
/** Of one allocation, including valid tickets. */
export const SESSIONS_MAX = 256;

export type SessionFacts = Readonly<{
  name: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  state: AllocationState;
  node_id: string | null;
  power_state: PowerState | null;
}>;

const OVER: Readonly<Partial<Record<AllocationState, string>>> = {
  releasing: 'The allocation is being released and accepts no connections.',
  release_failed: 'The allocation is being released and accepts no connections.',
  released: REFUSALS.allocation_released,
  failed: REFUSALS.allocation_failed,
};

const off = ({ name }: SessionFacts): string => `The VM is off. Start it first: gpuaas allocation start ${name}`;

const consoleRefusal = (facts: SessionFacts): string | null => {
  if (facts.capacity_shape === 'baremetal')
    return 'A bare-metal allocation has no serial console. Open a terminal or use SSH instead.';
  if (facts.state === 'active') return facts.power_state === 'off' ? off(facts) : null;
  return facts.node_id === null ? REFUSALS.being_provisioned : null;
};

/** Why no session of this kind is possible now and what to do instead, for everyone who may see the allocation. */
export const sessionRefusal = (facts: SessionFacts, kind: SessionKind): string | null => {
  const over = OVER[facts.state];
  if (over !== undefined) return over;
  if (kind === 'console') return consoleRefusal(facts);
  if (facts.state !== 'active') return REFUSALS.being_provisioned;
  if (facts.capacity_shape === 'baremetal' || facts.power_state === null) return null;
  if (facts.power_state === 'off') return off(facts);
  return facts.power_state === 'on' || facts.power_state === 'unknown'
    ? null
    : `The VM is ${facts.power_state}. Wait until that completes, or open its console.`;
};

/** Whether what the caller types may reach the VM. */
export const acceptsInput = ({ state }: Pick<SessionFacts, 'state'>): boolean => state === 'active';

/** Of the organization, or of one of its projects. */
export type RecordingPolicy = Readonly<{ records_terminals: boolean; requires_recording: boolean }>;
export type RecordingPolicies = Readonly<{ organization: RecordingPolicy; project: RecordingPolicy }>;

/** Only a terminal can be recorded: the other kinds carry encrypted or arbitrary bytes, or what the VM prints anyway. */
export const isRecorded = ({ organization, project }: RecordingPolicies, kind: SessionKind): boolean =>
  kind === 'terminal' &&
  [organization, project].some(({ records_terminals, requires_recording }) => records_terminals || requires_recording);

type Required = Readonly<{ organization: boolean; project: boolean }>;

/** Why a session without recording is forbidden. A project can forbid what its organization allows, never the reverse. */
export const unrecordedRefusal = ({ organization, project }: Required): string | null => {
  if (organization) return REFUSALS.session_not_recorded('organization');
  return project ? REFUSALS.session_not_recorded('project') : null;
};

/** Why the policies forbid a session of this kind. */
export const recordingRefusal = (policies: RecordingPolicies, kind: SessionKind): string | null =>
  isRecorded(policies, kind)
    ? null
    : unrecordedRefusal({
        organization: policies.organization.requires_recording,
        project: policies.project.requires_recording,
      });

/** The notice before a session. Organization or project decided it, so it names neither. */
export const sessionNotice = (isRecorded: boolean): string | null =>
  isRecorded ? 'The output of this terminal is recorded.' : null;
