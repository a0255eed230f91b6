/** The checks of what the site runs: processes, agents, images, delivery, sealing, backups. */
import type { SiteFacts } from './doctor-facts.ts';
import {
  type AnyCheck,
  because,
  check,
  DAY_S,
  failed,
  listed,
  notConfigured,
  ok,
  plural,
  secondsUntil,
  span,
  type Verdict,
  warning,
} from './doctor-verdict.ts';

const AGENT_CLOCK_WARN_MS = 5_000;
/** The limits of the alerts. */
const LAG_WARN_S = 60;
const LAG_FAIL_S = 900;
const HOUR_S = 3_600;
/** A segment of a quiet chain is a month; the limit of the alert. */
const ARCHIVE_LAG_FAIL_S = 40 * DAY_S;

const REQUIRED = ['gpuaas-api', 'gpuaas-provisioning-worker', 'gpuaas-node-api'];

const judgeProcesses = ({ services, needs_relay }: SiteFacts['processes']): Verdict => {
  const running = new Set(services.flatMap((service) => service.split(',')));
  const missing = [...REQUIRED, ...(needs_relay ? ['gpuaas-outbox-relay'] : [])].filter((role) => !running.has(role));
  if (missing.length > 0)
    return failed(
      `No process runs ${listed(missing)}.`,
      'Start it with --roles, or look into its log for why it ended.',
    );
  return ok(
    `${plural(services.length, 'process', 'processes')} seen within a minute: ${listed([...running].toSorted())}.`,
  );
};

/** Release numbers, a pre-release before its release; undefined where it is no release number. */
const partsOf = (version: string): readonly number[] | undefined => {
  const [, major, minor, patch, pre] = /^(\d+)\.(\d+)\.(\d+)(-.+)?$/.exec(version) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch), pre === undefined ? 1 : 0];
};

export const isOlder = (version: string, than: string): boolean => {
  const [a, b] = [partsOf(version), partsOf(than)];
  if (a === undefined || b === undefined) return false;
  const at = a.findIndex((part, index) => part !== b[index]);
  return at !== -1 && Number(a[at]) < Number(b[at]);
};

const judgeAgents = ({ server_version, agents }: SiteFacts['agents']): Verdict => {
  if (agents.length === 0) return notConfigured('No agent has connected yet.');
  const lost = agents.filter(({ is_connected }) => !is_connected).map(({ name }) => name);
  if (lost.length > 0)
    return warning(
      `${plural(lost.length, 'agent')} of ${agents.length} disconnected: ${listed(lost)}.`,
      'On the host: systemctl status gpuaas-node-agent, then its log.',
    );
  const skewed = agents.filter(({ clock_skew_ms }) => Math.abs(clock_skew_ms) > AGENT_CLOCK_WARN_MS);
  if (skewed.length > 0)
    return warning(
      `Clocks of hosts differ by more than 5 seconds: ${listed(skewed.map(({ name }) => name))}.`,
      'Enable time synchronization on these hosts.',
    );
  const older = agents.filter(({ version }) => isOlder(version, server_version)).map(({ name }) => name);
  if (older.length > 0)
    return warning(
      `${plural(older.length, 'agent')} of ${agents.length} older than the server (${server_version}): ${listed(older)}.`,
      'Update each: gpuaas admin node update-agent NODE --release VERSION --digest DIGEST',
    );
  return ok(`${plural(agents.length, 'agent')} connected, none older than ${server_version}.`);
};

const judgeNamedHosts = ({ is_required, is_production }: SiteFacts['named_hosts']): Verdict => {
  if (is_required) return ok('An enrollment token is created only for a host that an operator named.');
  if (!is_production)
    return notConfigured('In development the first host that has an enrollment token becomes the node.');
  return warning(
    'The first host that has an enrollment token becomes the node, also if the token was stolen.',
    'Remove GPUAAS_REQUIRE_NAMED_HOST=0, and name each host: gpuaas admin node create NAME --serial SERIAL',
  );
};

const judgeGpuModels = ({ nodes_compared, conflicts }: SiteFacts['gpu_models']): Verdict => {
  if (nodes_compared === 0) return notConfigured('No discovery has found GPUs yet.');
  const [first] = conflicts;
  if (first !== undefined)
    return failed(
      `${plural(conflicts.length, 'node')} of ${nodes_compared} ${conflicts.length === 1 ? 'has' : 'have'} GPUs of another model than declared; nothing is placed there. ${first}`,
      'gpuaas admin node list shows them; gpuaas admin node get NODE shows the GPUs found.',
    );
  return ok(`The GPUs of ${plural(nodes_compared, 'node')} are of the model they were added with.`);
};

const judgeImages = ({ images, active_nodes }: SiteFacts['images']): Verdict => {
  if (images.length === 0)
    return warning(
      'No image is registered, so no slice can be launched.',
      'gpuaas admin image register catalog.json --sku NAME',
    );
  if (active_nodes === 0) return notConfigured(`${plural(images.length, 'image')} registered; no node is active yet.`);
  const absent = images.filter(({ nodes_with_it }) => nodes_with_it === 0).map(({ name }) => name);
  if (absent.length > 0)
    return warning(
      `No host has ${listed(absent)}: the first launch waits for the download, or fails if no host can fetch it.`,
      `Fetch it in advance: gpuaas admin node image pull NODE ${absent[0]}`,
    );
  return ok(`Each of ${plural(images.length, 'image')} is on at least one host.`);
};

const judgeOutbox = ({ unsent, oldest_age_s }: SiteFacts['outbox']): Verdict => {
  if (oldest_age_s <= LAG_WARN_S)
    return ok(`${plural(unsent, 'event')} waiting, the oldest for ${span(oldest_age_s)}.`);
  const detail = `${plural(unsent, 'event')} waiting; the oldest was committed ${span(oldest_age_s)} ago.`;
  const cure = 'Check gpuaas-outbox-relay and NATS. No event is lost: they are delivered in order later.';
  return oldest_age_s > LAG_FAIL_S ? failed(detail, cure) : warning(detail, cure);
};

const judgeSealer = ({ rows_s, heads_s }: SiteFacts['sealer']): Verdict => {
  const lag = Math.max(rows_s, heads_s);
  if (lag <= LAG_WARN_S) return ok('Audit rows are sealed, and their heads are signed outside the database.');
  const detail =
    rows_s >= heads_s
      ? `An audit row has waited ${span(rows_s)} for its seal.`
      : `A seal has waited ${span(heads_s)} for its signed head.`;
  const cure = 'Check gpuaas-provisioning-worker and the file system of GPUAAS_AUDIT_HEADS_FILE.';
  return lag > LAG_FAIL_S ? failed(detail, cure) : warning(detail, cure);
};

const judgeArchive = (fact: SiteFacts['audit_archive']): Verdict => {
  if (fact === null)
    return warning(
      'No archive directory is set: every audit row stays in the database, which grows.',
      'Set GPUAAS_AUDIT_ARCHIVE_DIR, the same directory for gpuaas-provisioning-worker and gpuaas-api, and back it up.',
    );
  if (fact.lag_s <= ARCHIVE_LAG_FAIL_S)
    return ok(`Audit rows are archived after ${plural(fact.online_days, 'day')}, by segments of up to a month.`);
  return failed(
    `The oldest audit row has been due for the archive for ${span(fact.lag_s)}.`,
    'Look for archive-audit in the log of gpuaas-provisioning-worker; check GPUAAS_AUDIT_ARCHIVE_DIR and its file system.',
  );
};

const judgeRestore = ({ newest, held_nodes }: SiteFacts['restore'], now: Date): Verdict => {
  if (newest === null || held_nodes === 0) return ok('No node waits for an operator after a restore.');
  const since = span(-secondsUntil(newest.began_at, now));
  return failed(
    `${plural(held_nodes, 'node')} got no task that destroys data for ${since}: ${because(newest.reason)}`,
    'gpuaas admin restore show. If the database was restored: gpuaas admin restore begin. Then compare and release each node.',
  );
};

const RECORD_COMMAND = 'gpuaas admin backup record --taken-at TIME --location WHERE';

const judgeBackup = ({ newest, max_age_h }: SiteFacts['backup'], now: Date): Verdict => {
  if (newest === null)
    return warning(
      'No backup of the database is recorded.',
      `Add this as the last line of the backup job: ${RECORD_COMMAND}`,
    );
  const age = -secondsUntil(newest.taken_at, now);
  const detail = `The newest recorded backup is ${span(age)} old, at ${newest.location}.`;
  return age > max_age_h * HOUR_S
    ? warning(
        `${detail} At most ${max_age_h} hours are allowed.`,
        'Check the backup job, and that it records its backups.',
      )
    : ok(detail);
};

export const SERVICE_CHECKS: readonly AnyCheck[] = [
  check({
    key: 'processes',
    label: 'Processes',
    fact: 'processes',
    runbook: 'database-down.md#stalled-loops',
    judge: judgeProcesses,
  }),
  check({ key: 'agents', label: 'Agents', fact: 'agents', runbook: 'agent-offline.md', judge: judgeAgents }),
  check({
    key: 'named_hosts',
    label: 'Enrollment of hosts',
    fact: 'named_hosts',
    runbook: 'onboard-host.md',
    judge: judgeNamedHosts,
  }),
  check({
    key: 'gpu_models',
    label: 'GPU models',
    fact: 'gpu_models',
    runbook: 'onboard-host.md',
    judge: judgeGpuModels,
  }),
  check({ key: 'images', label: 'Images', fact: 'images', runbook: null, judge: judgeImages }),
  check({ key: 'outbox', label: 'Event delivery', fact: 'outbox', runbook: 'outbox-lag.md', judge: judgeOutbox }),
  check({ key: 'sealer', label: 'Audit seals', fact: 'sealer', runbook: 'audit-verify-failed.md', judge: judgeSealer }),
  check({
    key: 'audit_archive',
    label: 'Audit archive',
    fact: 'audit_archive',
    runbook: 'audit-verify-failed.md#audit-rows-are-not-archived',
    judge: judgeArchive,
  }),
  check({
    key: 'restore',
    label: 'Restore',
    fact: 'restore',
    runbook: 'restore-backup.md',
    judge: judgeRestore,
  }),
  check({ key: 'backup', label: 'Backup', fact: 'backup', runbook: 'restore-backup.md', judge: judgeBackup }),
];
