/**
 * How long the rows of every table are kept: the one place. The reconciler `purge-expired` runs the purges in this order;
 * what cites a row comes before it. A test compares the list with the schema.
 */
import { GRANTS } from '../db/access-grant.ts';
import { deleteExpiredAccessTokens, deleteOldTokens } from '../db/api-token.ts';
import { deleteOldBackups } from '../db/backup.ts';
import type { Tx } from '../db/client.ts';
import { deleteExpiredIdempotencyKeys } from '../db/idempotency.ts';
import { deleteOldInvitations } from '../db/invitation.ts';
import type { Ages, KeptPurge } from '../db/keep.ts';
import { deleteOldListenerRequests } from '../db/listener-request.ts';
import { deleteOldCertificates, ENROLLMENTS } from '../db/node-certificate.ts';
import { deleteOldStreamTasks } from '../db/node-task.ts';
import { deleteOldEvents } from '../db/outbox.ts';
import { deleteEndedHolders } from '../db/platform-key.ts';
import { deleteOldQuotaRequests } from '../db/quota-request.ts';
import { OVERRIDES } from '../db/slot-override.ts';
import { cutWipeChains } from '../db/statements/cut-wipe-chains.ts';
import { RUNS } from '../db/statements/purge-runs.ts';
import { TASKS } from '../db/statements/purge-tasks.ts';
import { deleteEndedUserData } from '../db/statements/remove-user-data.ts';
import { deleteOldRecordings } from '../db/terminal-recording.ts';
import { deleteOldSessions, deleteUnusedTickets } from '../db/terminal-session.ts';
import { deleteOldDiscoveries } from '../db/topology.ts';
import { deleteOverWebSessions } from '../db/web-session.ts';

type Purge = (tx: Tx, limit: number, ages: Ages) => Promise<number>;

export type Retention = Readonly<{
  /** When a row goes, or why it stays. */
  kept: string;
  purges?: readonly Purge[];
}>;

const history =
  (purge: (tx: Tx, limit: number, days: number) => Promise<number>): Purge =>
  (tx, limit, { history_days }) =>
    purge(tx, limit, history_days);

const looked = ({ deleteOld, deleteKept }: KeptPurge): readonly Purge[] => [deleteOld, deleteKept];

const LEDGER = 'never deleted: the ledger';
const EVIDENCE = 'never deleted: evidence, a few rows a year';
const BOUNDED = 'one row, or a few, of each thing that it is about';
const THING = 'never deleted: what other rows, audit rows and charges name';
const MEMBERSHIP = 'until it is taken away';

export const RETENTION: Readonly<Record<string, Retention>> = {
  outbox_events: { kept: 'a week after delivery', purges: [deleteOldEvents] },
  idempotency_keys: { kept: 'a day', purges: [deleteExpiredIdempotencyKeys] },
  api_tokens: {
    kept: 'GPUAAS_HISTORY_DAYS after the end; access tokens of service accounts a day',
    purges: [deleteExpiredAccessTokens, history(deleteOldTokens)],
  },
  web_sessions: { kept: 'until its maximum duration is over', purges: [deleteOverWebSessions] },
  allocation_user_data: { kept: 'until the allocation ends', purges: [deleteEndedUserData] },
  terminal_recordings: { kept: 'as long as the policy of its organization states', purges: [deleteOldRecordings] },
  terminal_sessions: { kept: '90 days; an unused ticket an hour', purges: [deleteUnusedTickets, deleteOldSessions] },
  listener_requests: { kept: 'a week', purges: [deleteOldListenerRequests] },
  platform_key_holders: { kept: 'until the process has ended', purges: [deleteEndedHolders] },
  workflow_runs: {
    kept: 'GPUAAS_HISTORY_DAYS after the end; stuck ones, and those of an allocation that is not over, stay',
    purges: looked(RUNS),
  },
  workflow_steps: { kept: 'as its run' },
  workflow_signals: { kept: 'as its run' },
  node_certificates: { kept: 'GPUAAS_HISTORY_DAYS after the validity', purges: [history(deleteOldCertificates)] },
  node_enrollments: {
    kept: 'GPUAAS_HISTORY_DAYS, and as long as one of its certificates',
    purges: looked(ENROLLMENTS),
  },
  topology_discoveries: {
    kept: 'GPUAAS_HISTORY_DAYS; the newest of a node, and those that a slot was approved by, stay',
    purges: [history(deleteOldDiscoveries)],
  },
  topology_candidates: { kept: 'as its discovery' },
  allocation_access_grants: {
    kept: 'GPUAAS_HISTORY_DAYS after the end of its allocation',
    purges: looked(GRANTS),
  },
  invitations: { kept: 'GPUAAS_HISTORY_DAYS after the end', purges: [history(deleteOldInvitations)] },
  quota_requests: { kept: 'GPUAAS_HISTORY_DAYS after the decision', purges: [history(deleteOldQuotaRequests)] },
  backups: { kept: 'GPUAAS_HISTORY_DAYS; the newest stays', purges: [history(deleteOldBackups)] },
  wipe_proofs: {
    kept: 'GPUAAS_CERTIFICATE_YEARS; the one that a slot or a disk stands on stays',
    purges: [(tx, limit, { certificate_years }) => cutWipeChains(tx, limit, certificate_years)],
  },
  allocation_resource_claims: { kept: 'as the proof that ended it' },
  slot_overrides: {
    kept: 'GPUAAS_HISTORY_DAYS after the end of the request; a confirmed one as long as its proof',
    purges: looked(OVERRIDES),
  },
  node_tasks: {
    kept: 'GPUAAS_HISTORY_DAYS after the end, and as long as something cites it; those of sessions a day',
    // After everything that may cite a task.
    purges: [deleteOldStreamTasks, ...looked(TASKS)],
  },

  log_lines: { kept: 'GPUAAS_LOG_DAYS: keep-log-partitions drops whole days' },
  log_lines_default: { kept: 'as log_lines' },
  capacity_samples: { kept: '90 days: sample-capacity deletes them' },
  oidc_records: { kept: 'until they expire: the embedded issuer deletes them' },
  audit_logs: { kept: 'GPUAAS_AUDIT_ONLINE_DAYS, then in signed files: archive-audit' },
  audit_seals: { kept: 'as its audit row' },
  audit_segments: { kept: 'never deleted: names the file of 5,000 rows or a month' },
  wipe_chain_cuts: { kept: 'never deleted: what the rest of a chain verifies from' },

  allocations: { kept: LEDGER },
  allocation_placements: { kept: LEDGER },
  allocation_moves: { kept: LEDGER },
  allocation_installs: { kept: LEDGER },
  usage_records: { kept: LEDGER },
  sku_prices: { kept: LEDGER },

  restores: { kept: EVIDENCE },
  node_hosts: { kept: EVIDENCE },
  disk_ownerships: { kept: EVIDENCE },
  trust_keys: { kept: EVIDENCE },
  platform_keys: { kept: EVIDENCE },
  schema_migrations: { kept: EVIDENCE },

  users: { kept: THING },
  organizations: { kept: THING },
  projects: { kept: THING },
  service_accounts: { kept: THING },
  regions: { kept: THING },
  pools: { kept: THING },
  nodes: { kept: THING },
  node_resource_slots: { kept: THING },
  sku_catalog: { kept: THING },
  os_images: { kept: THING },
  os_image_versions: { kept: THING },
  os_image_availability: { kept: THING },

  tenant_memberships: { kept: MEMBERSHIP },
  project_memberships: { kept: MEMBERSHIP },
  group_mappings: { kept: MEMBERSHIP },
  group_access_blocks: { kept: 'until a person lets the member in again' },
  ssh_keys: { kept: 'until its user removes it' },

  access_policies: { kept: BOUNDED },
  audit_chains: { kept: BOUNDED },
  audit_sealer: { kept: BOUNDED },
  capacity_counters: { kept: BOUNDED },
  clock_guard: { kept: BOUNDED },
  health_breaker: { kept: BOUNDED },
  node_agents: { kept: BOUNDED },
  node_fabric_partitions: { kept: BOUNDED },
  node_health_overrides: { kept: BOUNDED },
  node_health_reports: { kept: BOUNDED },
  node_inventories: { kept: BOUNDED },
  node_placement_summary: { kept: BOUNDED },
  oidc_signing_keys: { kept: BOUNDED },
  os_image_skus: { kept: BOUNDED },
  platform_secrets: { kept: BOUNDED },
  quotas: { kept: BOUNDED },
  sign_up_requests: { kept: BOUNDED },
  site_policy: { kept: BOUNDED },
  sku_vm_profiles: { kept: BOUNDED },
};
