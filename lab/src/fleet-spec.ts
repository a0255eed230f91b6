/** The simulated hosts and how far each is onboarded: the demo's four, or any number of identical ones. */
import type { NewFault } from '../../node-agent/src/host/sim/fault.ts';
import type { ProfileName } from '../../node-agent/src/host/sim/profile.ts';

export type HostSpec = Readonly<{
  name: string;
  profile: ProfileName;
  capacity_mode: 'slice' | 'baremetal' | 'flexible';
  /** `ready`: schedulable as soon as it is enrolled. `discovered`: left for an operator to review and approve. */
  until: 'ready' | 'discovered';
  /** Of the demo site; without one, the shared pool. */
  pool_name?: string;
  /** Its initial faults. */
  faults: readonly NewFault[];
}>;

const H200 = { profile: 'dell-xe9680-h200', until: 'ready', faults: [] } as const;

/**
 * A new user finds capacity to launch on, and one host that needs review: one of its disks is mounted. That host stays outside
 * the active pool: its own pool is dedicated to an organization, also once it is approved.
 */
export const DEMO_HOSTS: readonly HostSpec[] = [
  { ...H200, name: 'j22u15', capacity_mode: 'slice' },
  { ...H200, name: 'j22u11', capacity_mode: 'slice' },
  { ...H200, name: 'j27u15', capacity_mode: 'baremetal' },
  {
    ...H200,
    name: 'j22u05',
    capacity_mode: 'slice',
    until: 'discovered',
    pool_name: 'returning',
    faults: [{ state: 'disk_mounted', slot: 3 }],
  },
];

export const manyHosts = (
  count: number,
  alike: Readonly<Pick<HostSpec, 'profile' | 'capacity_mode'> & { prefix: string; until?: HostSpec['until'] }>,
): readonly HostSpec[] =>
  Array.from({ length: count }, (_, index) => ({
    ...H200,
    name: `${alike.prefix}${String(index + 1).padStart(4, '0')}`,
    profile: alike.profile,
    capacity_mode: alike.capacity_mode,
    until: alike.until ?? 'ready',
  }));
