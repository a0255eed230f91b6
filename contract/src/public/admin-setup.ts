/** From an empty database to the first launch. The steps follow from the data of the site; no progress is stored. */
import Type from 'typebox';
import { Closed, Nullable, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { operatorReads } from './operator.ts';

/** `next`: do this now. `blocked`: an earlier step comes first. `optional`: open, and possible at any time. */
export const SETUP_STEP_STATES = ['done', 'next', 'blocked', 'optional'] as const;
export type SetupStepState = (typeof SETUP_STEP_STATES)[number];

export const SETUP_STEPS = [
  'sign_in',
  'superadmin',
  'trust_keys',
  'backups',
  'catalog',
  'sign_up',
  'node_created',
  'node_enrolled',
  'node_discovered',
  'node_approved',
  'first_launch',
] as const;
export type SetupStepKey = (typeof SETUP_STEPS)[number];

const SetupStep = Closed({
  key: StringEnum(SETUP_STEPS),
  label: Type.String(),
  state: StringEnum(SETUP_STEP_STATES),
  detail: Type.String({ description: 'What is there, or what is missing, as a sentence.' }),
  command: Nullable(Type.String({ description: 'The command of the step; null where it is done.' })),
});

export const adminSetupApi = define({
  adminSetupGet: {
    ...operatorReads('Site'),
    path: '/api/v1/admin/setup',
    summary: 'Get the steps from an empty database to the first launch',
    description:
      'Every step is read from the data of the site, so a step done in any way is done, and setting up may stop and continue at any time.',
    permission: 'admin.site.read',
    response: Closed({
      is_complete: Type.Boolean({ description: 'Every step that is not optional is done.' }),
      next: Nullable(StringEnum(SETUP_STEPS)),
      read_at: Time('When the data was read.'),
      requires_named_host: Type.Boolean({
        description:
          'An enrollment token is created only for a host that an operator named: a node is added with `host`, such as its serial number.',
      }),
      node_id: Nullable(Id('node', 'The newest node that is not retired: that of the steps of a node.')),
      steps: Type.Array(SetupStep),
    }),
  },
});
