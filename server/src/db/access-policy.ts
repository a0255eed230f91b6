/** The access policy of an organization. Without a change it has no row, and the defaults of the table apply. */
import type { Reader, Tx } from './client.ts';
import { statement } from './statement.ts';
import type { AccessPolicies } from './types.gen.ts';

export type AccessSettings = Readonly<
  Pick<
    AccessPolicies,
    | 'session_idle_s'
    | 'session_max_s'
    | 'ends_with_sign_in'
    | 'records_terminals'
    | 'requires_recording'
    | 'recording_days'
    | 'allows_service_accounts'
  >
>;

export type AccessPolicyRow = AccessSettings &
  Readonly<{ organization_id: string; version: number; updated_at: string }>;

/** The defaults of the table, for organizations without a row. */
export const ACCESS_DEFAULTS: AccessSettings = {
  session_idle_s: 1_800,
  session_max_s: 14_400,
  ends_with_sign_in: false,
  records_terminals: false,
  requires_recording: false,
  recording_days: 30,
  allows_service_accounts: false,
};

const POLICY = `p.organization_id, p.session_idle_s, p.session_max_s, p.ends_with_sign_in, p.records_terminals, p.requires_recording, p.recording_days,
  p.allows_service_accounts, p.version, p.updated_at`;

export const findAccessPolicy = async (reader: Reader, organizationId: string): Promise<AccessPolicyRow | undefined> =>
  (
    await reader.query<AccessPolicyRow>(`select ${POLICY} from access_policies p where p.organization_id = $1`, [
      organizationId,
    ])
  ).rows[0];

/** Creates the row of an organization without one, from the defaults. */
export const ensureAccessPolicy = async (tx: Tx, organizationId: string): Promise<void> => {
  await tx.query('insert into access_policies (organization_id) values ($1) on conflict do nothing', [organizationId]);
};

const UPDATE_ACCESS_POLICY = statement(
  {
    organization_id: 'text',
    version: 'integer',
    session_idle_s: 'integer | null',
    session_max_s: 'integer | null',
    ends_with_sign_in: 'boolean | null',
    records_terminals: 'boolean | null',
    requires_recording: 'boolean | null',
    recording_days: 'integer | null',
    allows_service_accounts: 'boolean | null',
  },
  `update access_policies p set session_idle_s = coalesce(:session_idle_s, session_idle_s), session_max_s = coalesce(:session_max_s,
     session_max_s),
     ends_with_sign_in = coalesce(:ends_with_sign_in, ends_with_sign_in), records_terminals = coalesce(:records_terminals,
     records_terminals),
     requires_recording = coalesce(:requires_recording, requires_recording), recording_days = coalesce(:recording_days, recording_days), allows_service_accounts = coalesce(:allows_service_accounts,
     allows_service_accounts),
     version = version + 1, updated_at = clock_timestamp()
   where p.organization_id = :organization_id and p.version = :version returning ${POLICY}`,
);

/** Undefined when the version differs. */
export const updateAccessPolicy = async (
  tx: Tx,
  organizationId: string,
  version: number,
  change: Partial<AccessSettings>,
): Promise<AccessPolicyRow | undefined> =>
  (
    await UPDATE_ACCESS_POLICY.query<AccessPolicyRow>(tx, {
      organization_id: organizationId,
      version,
      session_idle_s: change.session_idle_s ?? null,
      session_max_s: change.session_max_s ?? null,
      ends_with_sign_in: change.ends_with_sign_in ?? null,
      records_terminals: change.records_terminals ?? null,
      requires_recording: change.requires_recording ?? null,
      recording_days: change.recording_days ?? null,
      allows_service_accounts: change.allows_service_accounts ?? null,
    })
  ).rows[0];
