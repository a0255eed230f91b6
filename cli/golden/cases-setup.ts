/** Command lines about the site as a whole: its setup, its checks, its backups. */
import { Refusal } from './api.ts';
import type { Case } from './case.ts';
import { broken, half } from './fixtures-setup.ts';

const T = '--no-json';

const line = (name: string, command: string, more: Partial<Case> = {}): Case => ({
  name,
  args: command.split(' '),
  ...more,
});

export const setupCases: readonly Case[] = [
  line('admin-doctor', `admin doctor ${T}`),
  line('admin-doctor-failed', `admin doctor ${T}`, { answers: { adminDoctorGet: broken } }),
  line('admin-doctor-failed-json', 'admin doctor', { answers: { adminDoctorGet: broken } }),
  line('admin-setup', `admin setup ${T}`),
  line('admin-setup-json', 'admin setup'),
  line('admin-setup-complete', `admin setup ${T}`, {
    answers: { adminSetupGet: { ...half, is_complete: true, next: null, steps: half.steps.slice(0, 1) } },
  }),
  line('admin-setup-signed-out', `admin setup ${T}`, { env: { GPUAAS_TOKEN: '' } }),
  line('admin-setup-no-operator', `admin setup ${T}`, {
    answers: { adminSetupGet: new Refusal(404, 'not_found', 'Not found.') },
  }),
  line('admin-backup-list', `admin backup list ${T}`),
  line(
    'admin-backup-record',
    `admin backup record --taken-at 2026-11-15T02:00:00Z --location s3://backups/gpuaas --size-bytes 4812000000 ${T}`,
  ),
  line('admin-backup-record-no-time', `admin backup record --location s3://backups/gpuaas ${T}`),
];
