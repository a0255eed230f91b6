/**
 * A label and a tone for every state; glyph and color follow the tone. One table for all resources, so that one label looks
 * the same everywhere. A state missing here does not compile; one that only a newer server knows is shown by its name.
 */
import type {
  ALLOCATION_STATES,
  APPROVALS,
  AUDIT_RESULTS,
  GRANT_STATES,
  HEALTHS,
  INVITATION_STATES,
  NODE_STATES,
  OCCUPANCIES,
  POWER_STATES,
  PRICE_STATES,
  QUOTA_REQUEST_STATES,
  SERVICE_ACCOUNT_STATES,
  SESSION_STATES,
  SETUP_STEP_STATES,
  SIGN_UP_REQUEST_STATES,
  SITE_CHECK_STATES,
  SLOT_STATUSES,
  TASK_STATES,
  WORKFLOW_STATES,
} from '@gpuaas/sdk';

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';
export type StateWord = Readonly<{ word: string; tone: Tone }>;

type Words<States extends readonly string[]> = Readonly<Record<States[number], StateWord>>;

const word = (tone: Tone, text: string): StateWord => ({ word: text, tone });

const ALLOCATION: Words<typeof ALLOCATION_STATES> = {
  requested: word('busy', 'Requested'),
  provisioning: word('busy', 'Starting'),
  active: word('good', 'Active'),
  releasing: word('busy', 'Wiping'),
  released: word('idle', 'Released'),
  failed: word('bad', 'Failed'),
  release_failed: word('bad', 'Cleanup blocked'),
};
const POWER: Words<typeof POWER_STATES> = {
  on: word('good', 'On'),
  stopping: word('busy', 'Stopping'),
  off: word('idle', 'Off'),
  starting: word('busy', 'Starting'),
  rebooting: word('busy', 'Rebooting'),
  reinstalling: word('busy', 'Reinstalling'),
  unknown: word('warn', 'Unknown'),
};
const NODE: Words<typeof NODE_STATES> = {
  bootstrap_issued: word('idle', 'Waiting for agent'),
  enrolling: word('busy', 'Enrolling'),
  active: word('good', 'Active'),
  offline: word('bad', 'Offline'),
  draining: word('warn', 'Draining'),
  retired: word('idle', 'Retired'),
  deleted: word('idle', 'Deleted'),
};
const OCCUPANCY: Words<typeof OCCUPANCIES> = {
  free: word('good', 'Free'),
  sliced: word('busy', 'Sliced'),
  exclusive: word('busy', 'Bare metal'),
  cleaning: word('busy', 'Cleaning'),
  cleanup_blocked: word('bad', 'Cleanup blocked'),
};
const SLOT: Words<typeof SLOT_STATUSES> = {
  available: word('good', 'Available'),
  reserved: word('busy', 'Reserved'),
  in_use: word('busy', 'In use'),
  cleaning: word('busy', 'Cleaning'),
  cleanup_blocked: word('bad', 'Cleanup blocked'),
  quarantined: word('warn', 'Quarantined'),
};
const APPROVAL: Words<typeof APPROVALS> = {
  approved: word('good', 'Approved'),
  disabled: word('idle', 'Disabled'),
  needs_reapproval: word('warn', 'Needs reapproval'),
};
const HEALTH: Words<typeof HEALTHS> = {
  ok: word('good', 'Healthy'),
  unhealthy: word('bad', 'Unhealthy'),
  unknown: word('warn', 'Health unknown'),
};
const RUN: Words<typeof WORKFLOW_STATES> = {
  pending: word('busy', 'Pending'),
  running: word('busy', 'Running'),
  waiting: word('busy', 'Waiting'),
  done: word('good', 'Done'),
  stuck: word('bad', 'Stuck'),
  cancelled: word('idle', 'Cancelled'),
};
const TASK: Words<typeof TASK_STATES> = {
  queued: word('busy', 'Queued'),
  dispatched: word('busy', 'Sent'),
  running: word('busy', 'Running'),
  completed: word('good', 'Completed'),
  failed: word('bad', 'Failed'),
  expired: word('bad', 'Expired'),
  unknown: word('bad', 'Effect unknown'),
  cancelled: word('idle', 'Cancelled'),
};
const SESSION: Words<typeof SESSION_STATES> = {
  ticketed: word('busy', 'Ticket issued'),
  opening: word('busy', 'Opening'),
  open: word('good', 'Open'),
  closed: word('idle', 'Closed'),
};
const RESULT: Words<typeof AUDIT_RESULTS> = {
  success: word('good', 'Success'),
  failure: word('bad', 'Failure'),
  denied: word('warn', 'Denied'),
};
const GRANT: Words<typeof GRANT_STATES> = {
  pending: word('busy', 'Installing'),
  installed: word('good', 'Installed'),
  revoking: word('busy', 'Revoking'),
  revoked: word('idle', 'Revoked'),
  failed: word('bad', 'Failed'),
};

const ACCOUNT: Words<typeof SERVICE_ACCOUNT_STATES> = {
  enabled: word('good', 'Enabled'),
  disabled: word('idle', 'Disabled'),
};
const TOKEN = { active: word('good', 'Active'), revoked: word('idle', 'Revoked'), expired: word('idle', 'Expired') };
const INVITATION: Words<typeof INVITATION_STATES> = {
  pending: word('busy', 'Pending'),
  accepted: word('good', 'Accepted'),
  revoked: word('idle', 'Revoked'),
  expired: word('idle', 'Expired'),
};

const QUOTA_REQUEST: Words<typeof QUOTA_REQUEST_STATES> = {
  open: word('busy', 'Open'),
  approved: word('good', 'Approved'),
  rejected: word('bad', 'Rejected'),
  withdrawn: word('idle', 'Withdrawn'),
};

const SIGN_UP: Words<typeof SIGN_UP_REQUEST_STATES> = {
  pending: word('busy', 'Open'),
  approved: word('good', 'Approved'),
  rejected: word('bad', 'Rejected'),
};
const PRICE: Words<typeof PRICE_STATES> = {
  past: word('idle', 'Past'),
  current: word('good', 'Current'),
  future: word('busy', 'Future'),
  cancelled: word('idle', 'Cancelled'),
};

const SETUP: Words<typeof SETUP_STEP_STATES> = {
  done: word('good', 'Done'),
  next: word('busy', 'Next'),
  blocked: word('idle', 'Later'),
  optional: word('idle', 'Optional'),
};
const CHECK: Words<typeof SITE_CHECK_STATES> = {
  ok: word('good', 'OK'),
  warning: word('warn', 'Warning'),
  failed: word('bad', 'Failed'),
  unknown: word('warn', 'Unknown'),
  not_configured: word('idle', 'Not used'),
};

const TABLES = {
  allocation: ALLOCATION,
  power: POWER,
  node: NODE,
  occupancy: OCCUPANCY,
  slot: SLOT,
  approval: APPROVAL,
  health: HEALTH,
  run: RUN,
  task: TASK,
  session: SESSION,
  result: RESULT,
  grant: GRANT,
  account: ACCOUNT,
  token: TOKEN,
  invitation: INVITATION,
  quota_request: QUOTA_REQUEST,
  sign_up: SIGN_UP,
  price: PRICE,
  setup: SETUP,
  check: CHECK,
} as const satisfies Readonly<Record<string, Readonly<Record<string, StateWord>>>>;

export type StateKind = keyof typeof TABLES;

export const stateWord = (kind: StateKind, state: string): StateWord =>
  (TABLES[kind] as Readonly<Record<string, StateWord>>)[state] ?? { word: state.replaceAll('_', ' '), tone: 'warn' };
