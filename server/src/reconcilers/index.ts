/**
 * The reconcilers of `gpuaas-provisioning-worker`: the one place for their names, intervals and what each does. The
 * role starts them from this list, and the table in `doc/architecture/reconcilers.md` is generated from it.
 */
import type { Deps } from '../context.ts';
import { createHeadsFile } from '../ports/objects/heads-file.ts';
import { createIdentityFile, identityFileOf } from '../ports/objects/identity-file.ts';
import { createSegmentFiles } from '../ports/objects/segment-files.ts';
import { reseal } from '../sealing/reseal.ts';
import { archiveAudit } from './archive-audit.ts';
import type { InvariantWatch } from './check-invariants.ts';
import { createCapacityCounter } from './count-capacity.ts';
import type { NodeCounter } from './count-nodes.ts';
import { endCooldown } from './end-cooldown.ts';
import { endGrace } from './end-grace.ts';
import { endGroupAccess } from './end-group-access.ts';
import { endLongWriters } from './end-long-writers.ts';
import { ensureTrustKeys } from './ensure-trust-keys.ts';
import { expireTasks } from './expire-tasks.ts';
import { fetchImages } from './fetch-images.ts';
import { keepLogPartitions } from './keep-log-partitions.ts';
import { markOffline } from './mark-offline.ts';
import type { HeadsDisk } from './measure-heads-disk.ts';
import { purgeExpired } from './purge-expired.ts';
import { releaseDue } from './release-due.ts';
import { revokeGrants } from './revoke-grants.ts';
import { sampleCapacity } from './sample-capacity.ts';
import { compareHeads, type SealerDeps, sealAudit } from './seal-audit.ts';
import { createClockWatch } from './watch-clock.ts';

export type ReconcilerDeps = Pick<Deps, 'config' | 'database' | 'secrets' | 'clock' | 'log'> &
  Readonly<{ watch: InvariantWatch; nodes: NodeCounter; headsDisk: HeadsDisk }>;

const headsFileOf = ({ config, secrets }: Pick<ReconcilerDeps, 'config' | 'secrets'>) =>
  createHeadsFile({ file: config.audit_heads_file, seeds: () => secrets.deriveByVersion('audit-heads', 32) });

type ReconcilerRun = (signal: AbortSignal) => Promise<unknown>;

export type ReconcilerDeclaration = Readonly<{
  name: string;
  interval_ms: number;
  /** For the table in the documents. */
  does: string;
  create(deps: ReconcilerDeps): ReconcilerRun;
}>;

export const sealerDeps = ({
  config,
  database,
  secrets,
}: Pick<Deps, 'config' | 'database' | 'secrets'>): SealerDeps => ({
  database,
  heads: headsFileOf({ config, secrets }),
  identities: createIdentityFile(identityFileOf(config.audit_heads_file)),
});

export const RECONCILERS: readonly ReconcilerDeclaration[] = [
  {
    name: 'watch-clock',
    interval_ms: 2_000,
    does: 'checks the clock of the database; after a step forward, work that ends something by time waits until agents or an operator confirm it',
    create: (deps) => createClockWatch(deps),
  },
  {
    name: 'seal-audit',
    interval_ms: 250,
    does: 'seals audit rows into their chains',
    create: (deps) => {
      const sealer = sealerDeps(deps);
      return (signal) => sealAudit(sealer, signal);
    },
  },
  {
    name: 'compare-heads',
    interval_ms: 2_000,
    does: 'compares the database with its signed heads: holds the nodes of one that was restored, and reports audit rows that a failover lost',
    create: (deps) => {
      const sealer = sealerDeps(deps);
      return () => compareHeads(sealer);
    },
  },
  {
    name: 'archive-audit',
    interval_ms: 600_000,
    does: 'moves audit rows older than `GPUAAS_AUDIT_ONLINE_DAYS` to signed segments in `GPUAAS_AUDIT_ARCHIVE_DIR`',
    create: ({ config: { audit_archive_dir: directory, audit_online_days: online_days }, database, secrets }) => {
      if (directory === null) return async () => {};
      const files = createSegmentFiles({ directory, seeds: () => secrets.deriveByVersion('audit-segments', 32) });
      return (signal) => archiveAudit({ database, files, online_days }, signal);
    },
  },
  {
    name: 'purge-expired',
    interval_ms: 60_000,
    does: 'deletes expired rows, history after `GPUAAS_HISTORY_DAYS`, wipe proofs after `GPUAAS_CERTIFICATE_YEARS`',
    create:
      ({ config: { history_days, certificate_years }, database }) =>
      (signal) =>
        purgeExpired({ database, history_days, certificate_years }, signal),
  },
  {
    name: 'release-due',
    interval_ms: 2_000,
    does: 'releases allocations whose maximum duration has passed',
    create: (deps) => (signal) => releaseDue(deps, signal),
  },
  {
    name: 'expire-tasks',
    interval_ms: 5_000,
    does: 'ends host tasks that were not completed in time',
    create: (deps) => (signal) => expireTasks(deps, signal),
  },
  {
    name: 'fetch-images',
    interval_ms: 10_000,
    does: 'asks a host of each enabled region for a stable and verified image that no host there has shown; again after 15 minutes where it failed',
    create: (deps) => (signal) => fetchImages(deps, signal),
  },
  {
    name: 'count-capacity',
    interval_ms: 1_000,
    does: 'rewrites the capacity counters when the fleet has changed or they are 5 s old',
    create: (deps) => createCapacityCounter({ database: deps.database }).run,
  },
  {
    name: 'sample-capacity',
    // It samples every five minutes by the clock: this is how soon after the mark.
    interval_ms: 10_000,
    does: 'stores the capacity counters of every fifth minute for 90 days',
    create: (deps) => () => sampleCapacity(deps),
  },
  {
    name: 'mark-offline',
    interval_ms: 2_000,
    does: 'moves nodes between `active` and `offline` by their last heartbeat, a few at a time',
    create: (deps) => (signal) => markOffline(deps, signal),
  },
  {
    name: 'end-cooldown',
    interval_ms: 60_000,
    does: 'clears failed launches of hosts that had no further one for 30 minutes',
    create: (deps) => () => endCooldown(deps),
  },
  {
    name: 'ensure-trust-keys',
    interval_ms: 1_000,
    does: 'creates the key that signs wipe certificates, and those that operators request',
    create: (deps) => () => ensureTrustKeys(deps),
  },
  {
    name: 'reseal',
    interval_ms: 1_000,
    does: 'seals values again with the active platform key while another is retiring',
    create: (deps) => (signal) => reseal(deps, signal),
  },
  {
    name: 'end-grace',
    interval_ms: 10_000,
    does: 'retires keys whose grace period has ended',
    create: (deps) => () => endGrace(deps),
  },
  {
    name: 'end-long-writers',
    interval_ms: 10_000,
    does: 'ends transactions of its own account that have written and are older than `GPUAAS_WRITE_TRANSACTION_MAX_S`',
    create:
      ({ config, database, log }) =>
      () =>
        endLongWriters({ database, log, max_s: config.write_transaction_max_s }),
  },
  {
    name: 'end-group-access',
    interval_ms: 600_000,
    does: 'ends memberships by groups that no sign-in confirmed for `GPUAAS_OIDC_GROUPS_MAX_AGE_DAYS`',
    create:
      ({ config, database }) =>
      (signal) =>
        endGroupAccess({ database, max_age_days: config.oidc.groups_max_age_days }, signal),
  },
  {
    name: 'revoke-grants',
    interval_ms: 5_000,
    does: 'revokes keys that outlived the access of their users; retries key installation',
    create: (deps) => (signal) => revokeGrants(deps, signal),
  },
  {
    name: 'keep-log-partitions',
    interval_ms: 3_600_000,
    does: 'creates the next days’ partitions of `log_lines` and drops expired ones',
    create: (deps) => () => keepLogPartitions({ database: deps.database, days: deps.config.log_days }),
  },
  {
    name: 'count-nodes',
    interval_ms: 30_000,
    does: 'counts nodes by state and certificates that end soon, for the metrics',
    create: (deps) => deps.nodes.run,
  },
  {
    name: 'measure-heads-disk',
    interval_ms: 60_000,
    does: 'measures the free space beside the audit heads file, for the metrics',
    create: (deps) => deps.headsDisk.run,
  },
  {
    name: 'check-invariants',
    interval_ms: 60_000,
    does: 'runs the invariant queries and reports violations as metric and log; repairs nothing',
    create: (deps) => deps.watch.run,
  },
];
