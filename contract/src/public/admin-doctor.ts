/** Checks of the whole site, made now by the process that answers. Every check is limited in time and names its cure. */
import Type from 'typebox';
import { Closed, Nullable, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { operatorReads } from './operator.ts';

/** `unknown`: the check itself did not complete. `not_configured`: this site does not use it. */
export const SITE_CHECK_STATES = ['ok', 'warning', 'failed', 'unknown', 'not_configured'] as const;
export type SiteCheckState = (typeof SITE_CHECK_STATES)[number];

const SiteCheck = Closed({
  key: Type.String({ description: 'The name of the check, which does not change.' }),
  label: Type.String(),
  state: StringEnum(SITE_CHECK_STATES),
  detail: Type.String({ description: 'What was found, as a sentence.' }),
  cure: Nullable(Type.String({ description: 'What to do; null where nothing is to be done.' })),
  runbook_url: Nullable(Type.String({ description: 'The runbook, below `doc/operations/runbooks`.' })),
});

export const adminDoctorApi = define({
  adminDoctorGet: {
    ...operatorReads('Site'),
    path: '/api/v1/admin/doctor',
    summary: 'Check the whole site now, with a remedy for each problem',
    description:
      'The checks run at once, each with its own time limit: a dependency that does not respond is `unknown`, and the others are still checked. The process contacts only addresses of its own configuration. Of a client, `gpuaas doctor` checks connection and sign-in.',
    permission: 'admin.site.read',
    response: Closed({
      state: StringEnum(['ok', 'warning', 'failed'], {
        description: 'The worst state: `unknown` counts as a warning.',
      }),
      checked_at: Time('When the checks began.'),
      duration_ms: Type.Integer({ description: 'How long all of them took together.' }),
      server_version: Type.String(),
      checks: Type.Array(SiteCheck),
    }),
  },
});
