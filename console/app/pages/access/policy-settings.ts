/** The settings of an access policy in words, with the bounds that the API keeps. */
import type { AccessPolicy } from '@gpuaas/sdk';

export type PolicySettings = Omit<AccessPolicy, 'organization_id' | 'version' | 'updated_at'>;

type NumberName = 'session_idle_s' | 'session_max_s' | 'recording_days';
export type PolicyNumber = Readonly<{
  name: NumberName;
  label: string;
  meaning: string;
  unit: string;
  /** What one unit on the page is in the API's. */
  factor: number;
  min: number;
  max: number;
}>;

export const POLICY_NUMBERS: readonly PolicyNumber[] = [
  {
    name: 'session_idle_s',
    label: 'End an idle session after',
    meaning: 'Nothing was said either way for this long. 1 to 30 minutes.',
    unit: 'min',
    factor: 60,
    min: 60,
    max: 1_800,
  },
  {
    name: 'session_max_s',
    label: 'End any session after',
    meaning: 'Whatever happens in it. 5 minutes to 24 hours.',
    unit: 'min',
    factor: 60,
    min: 300,
    max: 86_400,
  },
  {
    name: 'recording_days',
    label: 'Keep recordings for',
    meaning: '1 to 365 days.',
    unit: 'days',
    factor: 1,
    min: 1,
    max: 365,
  },
];

export const POLICY_SWITCHES = [
  {
    name: 'ends_with_sign_in',
    label: 'Sessions end with the sign-in',
    meaning: 'When the sign-in that opened one expires. Tokens that expire or are revoked always end theirs.',
  },
  {
    name: 'records_terminals',
    label: 'Record terminals',
    meaning: 'What terminals show is kept. Whoever opens one is told.',
  },
  {
    name: 'allows_service_accounts',
    label: 'Service accounts may open sessions',
    meaning: 'They have no keys, so nothing is granted to them.',
  },
] as const satisfies readonly Readonly<{ name: keyof PolicySettings; label: string; meaning: string }>[];

export const numberRefusal = ({ unit, factor, min, max }: PolicyNumber, value: number): string | null =>
  Number.isSafeInteger(value) && value >= min && value <= max
    ? null
    : `Choose ${min / factor} to ${max / factor} ${unit}.`;

/** Only what differs is sent, so that a change says what it changes. */
export const changesOf = (before: PolicySettings, after: PolicySettings): Partial<PolicySettings> => {
  const names = [...POLICY_NUMBERS, ...POLICY_SWITCHES].map(({ name }) => name);
  return Object.fromEntries(
    names.filter((name) => before[name] !== after[name]).map((name) => [name, after[name]]),
  ) as Partial<PolicySettings>;
};
