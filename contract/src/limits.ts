/**
 * Every limit that keeps one tenant from crowding out others, declared once: its name, its default, what it counts, and
 * the text of its refusal. The server enforces these limits, tenants read them as the limits of their organization, and
 * operators change them in `GPUAAS_LIMITS`. GPUs have separate quotas.
 *
 * `rows` are counted in the transaction that adds one, under a lock. `open` and `rate` are counted by each API process.
 */
type Limit = Readonly<{
  per: 'organization' | 'user';
  kind: 'rows' | 'open' | 'rate';
  default: number;
  /** The counted things, in the plural, as text after the number. */
  unit: string;
  counts: string;
  /** How to get below it. */
  relief: string;
  /** The operations that add to it; every one refuses at the limit. Only for `rows`. */
  added_by: readonly string[];
}>;

export const LIMITS = {
  requests_per_minute: {
    per: 'organization',
    kind: 'rate',
    default: 12_000,
    unit: 'requests per minute',
    counts: 'Requests of all members and service accounts to the organization and its projects, per API process.',
    relief: 'Send fewer requests',
    added_by: [],
  },
  tickets_per_minute: {
    per: 'organization',
    kind: 'rate',
    default: 600,
    unit: 'session tickets per minute',
    counts: 'Tickets for terminals, consoles, SSH and forwards, per API process.',
    relief: 'Open fewer sessions',
    added_by: [],
  },
  streams: {
    per: 'organization',
    kind: 'open',
    default: 500,
    unit: 'open streams',
    counts: 'Open event streams and downloads of all members and service accounts, per API process.',
    relief: 'Close a stream',
    added_by: [],
  },
  sessions: {
    per: 'organization',
    kind: 'rows',
    default: 500,
    unit: 'open sessions',
    counts: 'Open terminals, consoles, SSH sessions and forwards, including valid tickets.',
    relief: 'Close a session',
    added_by: ['terminalTicketCreate'],
  },
  recordings: {
    per: 'organization',
    kind: 'rows',
    default: 2_000,
    unit: 'terminal recordings',
    counts: 'Kept recordings of terminals, including terminals being recorded. A recording holds at most 64 MiB.',
    relief: 'Keep recordings for fewer days (`recording_days` of the access policy)',
    added_by: ['terminalTicketCreate'],
  },
  projects: {
    per: 'organization',
    kind: 'rows',
    default: 100,
    unit: 'projects',
    counts: 'Projects of the organization.',
    relief: 'Delete a project',
    added_by: ['projectCreate'],
  },
  service_accounts: {
    per: 'organization',
    kind: 'rows',
    default: 200,
    unit: 'service accounts',
    counts: 'Service accounts of all projects.',
    relief: 'Delete a service account',
    added_by: ['serviceAccountCreate'],
  },
  service_account_tokens: {
    per: 'organization',
    kind: 'rows',
    default: 5_000,
    unit: 'service account tokens',
    counts: 'Valid tokens of all service accounts, including one-hour access tokens.',
    relief: 'Revoke a token, or wait for one to expire',
    added_by: ['serviceAccountTokenCreate', 'serviceAccountTokenIssue'],
  },
  members: {
    per: 'organization',
    kind: 'rows',
    default: 1_000,
    unit: 'members',
    counts: 'Members of the organization. Memberships by groups count, and are not refused: operators map the groups.',
    relief: 'Remove a member',
    added_by: ['invitationAccept'],
  },
  invitations: {
    per: 'organization',
    kind: 'rows',
    default: 200,
    unit: 'pending invitations',
    counts: 'Invitations that are neither accepted, revoked nor expired.',
    relief: 'Revoke an invitation',
    added_by: ['invitationCreate'],
  },
  quota_requests: {
    per: 'organization',
    kind: 'rows',
    default: 200,
    unit: 'open and recent quota requests',
    counts: 'Requests for a larger GPU limit that are open, or were made within 24 hours.',
    relief: 'Wait until operators have decided and a day has passed',
    added_by: ['quotaRequestCreate'],
  },
  organizations: {
    per: 'user',
    kind: 'rows',
    default: 10,
    unit: 'organizations',
    counts: 'Organizations that the user created, without the personal one.',
    relief: 'Use an existing organization',
    added_by: ['organizationCreate'],
  },
  personal_tokens: {
    per: 'user',
    kind: 'rows',
    default: 100,
    unit: 'API tokens',
    counts: 'Valid API tokens of the user.',
    relief: 'Revoke a token',
    added_by: ['apiTokenCreate'],
  },
  ssh_keys: {
    per: 'user',
    kind: 'rows',
    default: 100,
    unit: 'SSH keys',
    counts: 'SSH keys of the user.',
    relief: 'Delete a key',
    added_by: ['sshKeyCreate'],
  },
} as const satisfies Readonly<Record<string, Limit>>;

export type LimitName = keyof typeof LIMITS;
/** Those that are counted in the database. */
export type CountedLimit = { [N in LimitName]: (typeof LIMITS)[N]['kind'] extends 'rows' ? N : never }[LimitName];
export const LIMIT_NAMES = Object.keys(LIMITS) as readonly LimitName[];
export type LimitValues = Readonly<Record<LimitName, number>>;

export const limitRefusal = (name: LimitName, max: number): string => {
  const { per, unit, relief } = LIMITS[name];
  const reached = per === 'user' ? 'You have reached your' : 'The organization has reached its';
  return `${reached} limit of ${max} ${unit}. ${relief}, or ask an operator to raise the limit ${name}.`;
};

/** Why one more is refused; null below the limit. */
export const fullRefusal = (name: LimitName, used: number, max: number): string | null =>
  used >= max ? limitRefusal(name, max) : null;

/** The counted limits that an operation adds to. */
export const limitsOf = (operation: string): readonly CountedLimit[] =>
  LIMIT_NAMES.filter(
    (name): name is CountedLimit =>
      LIMITS[name].kind === 'rows' && (LIMITS[name].added_by as readonly string[]).includes(operation),
  );
