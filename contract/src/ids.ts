/**
 * Every id states its kind: a three-letter prefix and 26 characters of Crockford base32 that sort by creation time. The
 * server creates ids; this file only defines their grammar, so that a path parameter of the wrong kind is refused
 * before any query runs.
 */
import Type from 'typebox';

export const ID_PREFIXES = {
  access_grant: 'grt',
  allocation: 'alc',
  api_token: 'tok',
  audit_log: 'aud',
  backup: 'bkp',
  candidate: 'cnd',
  claim: 'clm',
  disk_ownership: 'dsk',
  enrollment: 'enr',
  event: 'evt',
  group_mapping: 'grm',
  invitation: 'inv',
  node: 'nod',
  node_task: 'tsk',
  organization: 'org',
  pool: 'pol',
  price: 'prc',
  project: 'prj',
  quota_request: 'qrq',
  restore: 'rst',
  service_account: 'sva',
  sign_up_request: 'sur',
  slot: 'slt',
  slot_override: 'ovr',
  ssh_key: 'key',
  terminal_session: 'ses',
  trust_key: 'tky',
  usage_record: 'usg',
  user: 'usr',
  web_session: 'wse',
  wipe_proof: 'wpf',
  workflow_run: 'wfr',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

/** A string schema for one kind of id. */
export const Id = (kind: IdKind, description?: string) =>
  Type.String({
    pattern: `^${ID_PREFIXES[kind]}_[0-9a-hjkmnp-tv-z]{26}$`,
    description: description ?? `ID of the ${kind.replace('_', ' ')}.`,
    examples: [`${ID_PREFIXES[kind]}_01k9zv3m8q4t6w2x5y7r0s1n3p`],
  });
