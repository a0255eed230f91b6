/** Scenarios of the site as a whole: its checks, its setup, its backups. */
import { randomUUID } from 'node:crypto';
import type { Scenarios } from './scenario.ts';
import type { Tenants } from './tenants.ts';

const asOperator = async ({ superadmin }: Tenants) => ({ as: superadmin });

export const setupScenarios: Pick<
  Scenarios,
  'adminDoctorGet' | 'adminSetupGet' | 'adminBackupList' | 'adminBackupRecord'
> = {
  adminDoctorGet: asOperator,
  adminSetupGet: asOperator,
  adminBackupList: asOperator,
  adminBackupRecord: async ({ superadmin }) => ({
    as: superadmin,
    body: { taken_at: '2026-01-02T03:04:05.000Z', location: `s3://backups/${randomUUID()}`, size_bytes: 1_048_576 },
  }),
};
