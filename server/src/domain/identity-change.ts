/**
 * Audited changes of who may do what. After a restore the database does not know those since the backup: a removed
 * member is one again. So each is also written to a file outside the database, and a restore lists them.
 */

/** One audit row, at its place in the chain of its organization. */
export type IdentityChange = Readonly<{
  chain: string;
  sequence: number;
  at: string;
  action: string;
  target_kind: string | null;
  target_id: string | null;
  actor_id: string | null;
  organization_id: string | null;
}>;

/**
 * The nouns, or whole names, of audit actions about who may do what: people, credentials, keys and certificates, and the
 * policies, mappings and limits that admit people and decide how much they may have. A change of a project may be that of
 * what it records of sessions.
 */
const NOUNS = [
  'access_policy',
  'allocation.access_grant',
  'api_token',
  'group_mapping',
  'invitation',
  'node.agent',
  'node.certificate',
  'node.enroll',
  'node.rebind',
  'node.retire',
  'organization.create',
  'organization.member',
  'platform_key',
  'project.member',
  'project.update',
  'quota',
  'quota_request',
  'service_account',
  'sign_up_request',
  'site',
  'site_policy',
  'ssh_key',
  'trust_key',
  'user',
] as const;

export const isIdentityAction = (action: string): boolean =>
  NOUNS.some((noun) => action === noun || action.startsWith(`${noun}.`));

/** Those behind the ends of the restored chains, each once, in the order of time. A crash may have written one twice. */
export const lostIdentityChanges = (
  written: readonly IdentityChange[],
  ends: ReadonlyMap<string, number>,
): IdentityChange[] => {
  const lost = new Map<string, IdentityChange>();
  for (const change of written)
    if (change.sequence > (ends.get(change.chain) ?? 0)) lost.set(`${change.chain} ${change.sequence}`, change);
  return [...lost.values()].sort((a, b) => (a.at < b.at ? -1 : 1));
};
