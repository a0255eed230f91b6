/** The settings of an access policy: label, meaning and the bounds of the contract. */
import {
  type AccessPolicy,
  RECORDING_DAYS_MAX,
  SESSION_IDLE_MAX_S,
  SESSION_IDLE_MIN_S,
  SESSION_LENGTH_MAX_S,
  SESSION_LENGTH_MIN_S,
} from '@gpuaas/sdk';

export type PolicySettings = Omit<AccessPolicy, 'organization_id' | 'version' | 'updated_at'>;

type NumberName = 'session_idle_s' | 'session_max_s' | 'recording_days';
export type PolicyNumber = Readonly<{
  name: NumberName;
  label: string;
  meaning: string;
  unit: string;
  /** API units per unit shown. */
  factor: number;
  min: number;
  max: number;
}>;

export const POLICY_NUMBERS: readonly PolicyNumber[] = [
  {
    name: 'session_idle_s',
    label: 'Idle timeout',
    meaning: 'Ends a session after this long without traffic. 1 to 30 minutes.',
    unit: 'min',
    factor: 60,
    min: SESSION_IDLE_MIN_S,
    max: SESSION_IDLE_MAX_S,
  },
  {
    name: 'session_max_s',
    label: 'Maximum session length',
    meaning: 'Ends a session after this long, active or not. 5 minutes to 24 hours.',
    unit: 'min',
    factor: 60,
    min: SESSION_LENGTH_MIN_S,
    max: SESSION_LENGTH_MAX_S,
  },
  {
    name: 'recording_days',
    label: 'Recording retention',
    meaning: '1 to 365 days.',
    unit: 'days',
    factor: 1,
    min: 1,
    max: RECORDING_DAYS_MAX,
  },
];

export const POLICY_SWITCHES = [
  {
    name: 'ends_with_sign_in',
    label: 'End sessions with the sign-in',
    meaning: 'A session ends when its browser sign-in expires. Sessions opened by a token always end with the token.',
  },
  {
    name: 'records_terminals',
    label: 'Record terminals',
    meaning: 'Stores terminal output. Users see a notice when they open a terminal.',
  },
  {
    name: 'requires_recording',
    label: 'Allow recorded sessions only',
    meaning: 'Records terminals. Refuses SSH, forwarded ports and serial consoles, and ends those that are open.',
  },
  {
    name: 'allows_service_accounts',
    label: 'Allow sessions by service accounts',
    meaning: 'Service accounts have no SSH keys, so they get no access grants.',
  },
] as const satisfies readonly Readonly<{ name: keyof PolicySettings; label: string; meaning: string }>[];

export const numberRefusal = ({ unit, factor, min, max }: PolicyNumber, value: number): string | null =>
  Number.isSafeInteger(value) && value >= min && value <= max
    ? null
    : `Enter ${min / factor} to ${max / factor} ${unit}.`;

/** Only changed settings are sent. */
export const changesOf = (before: PolicySettings, after: PolicySettings): Partial<PolicySettings> => {
  const names = [...POLICY_NUMBERS, ...POLICY_SWITCHES].map(({ name }) => name);
  return Object.fromEntries(
    names.filter((name) => before[name] !== after[name]).map((name) => [name, after[name]]),
  ) as Partial<PolicySettings>;
};
