/** Responses about the site as a whole. */
import type { Operations } from '@gpuaas/sdk';

const time = '2026-11-15T10:03:21.000Z';
const runbook = (file: string) => `doc/operations/runbooks/${file}`;

type Site = Operations['adminDoctorGet']['response'];
type Setup = Operations['adminSetupGet']['response'];
type Backup = Operations['adminBackupRecord']['response'];

const check = (key: string, label: string, detail: string, more: Partial<Site['checks'][number]> = {}) => ({
  key,
  label,
  state: 'ok' as const,
  detail,
  cure: null,
  runbook_url: null,
  ...more,
});

export const healthy: Site = {
  state: 'ok',
  checked_at: time,
  duration_ms: 96,
  server_version: '0.1.0',
  checks: [
    check(
      'database',
      'Database version and rights',
      'PostgreSQL 17.2, account gpuaas_api. Row-level security applies.',
    ),
    check('nats', 'NATS', 'This process has no NATS_URL: events stay in the database.', { state: 'not_configured' }),
  ],
};

export const broken: Site = {
  ...healthy,
  state: 'failed',
  duration_ms: 4_012,
  checks: [
    ...healthy.checks,
    check('issuer', 'Issuer', 'https://login.example.com does not respond: ECONNREFUSED', {
      state: 'failed',
      cure: 'Check GPUAAS_OIDC_ISSUER and the issuer. Until then only existing sessions and API tokens work.',
      runbook_url: runbook('sign-in-fails.md'),
    }),
    check('gateway', 'Gateway', 'The check did not complete: it did not respond within 4 s.', {
      state: 'unknown',
      cure: 'Repeat it. If it stays unknown, read the log of gpuaas-api.',
      runbook_url: runbook('terminal-gateway.md'),
    }),
    check('backup', 'Backup', 'No backup of the database is recorded.', {
      state: 'warning',
      cure: 'Add this as the last line of the backup job: gpuaas admin backup record --taken-at TIME --location WHERE',
      runbook_url: runbook('restore-backup.md'),
    }),
  ],
};

const step = (
  key: Setup['steps'][number]['key'],
  label: string,
  state: Setup['steps'][number]['state'],
  detail: string,
  command: string | null = null,
) => ({ key, label, state, detail, command });

export const half: Setup = {
  is_complete: false,
  next: 'catalog',
  read_at: time,
  requires_named_host: true,
  node_id: null,
  steps: [
    step('superadmin', 'First superadmin', 'done', 'There is one superadmin.'),
    step(
      'backups',
      'Backups',
      'optional',
      'No backup is recorded.',
      'gpuaas admin backup record --taken-at TIME --location WHERE',
    ),
    step('catalog', 'Catalog', 'next', 'Missing: an image.', 'gpuaas admin site plan -f site.yaml'),
    step(
      'node_created',
      'Create the first node',
      'blocked',
      'No host is registered as a node.',
      'gpuaas admin node create NAME',
    ),
  ],
};

const backup: Backup = {
  id: 'bkp_01k9zv3m8q4t6w2x5y7r0s1n1a',
  taken_at: '2026-11-15T02:00:00.000Z',
  location: 's3://backups/gpuaas',
  size_bytes: 4_812_000_000,
  recorded_at: time,
  recorded_by: 'usr_01k9zv3m8q4t6w2x5y7r0s1n01',
};

export const setupAnswers = {
  adminDoctorGet: healthy,
  adminSetupGet: half,
  adminBackupList: { items: [backup], next_cursor: null },
  adminBackupRecord: backup,
};
