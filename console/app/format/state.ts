/**
 * Every state in words, with how it is meant: a tone, which a glyph and a colour follow. One table for all kinds of things,
 * so that the same word looks the same wherever it stands. An unknown state is shown as it is called, never hidden.
 */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';
export type StateWord = Readonly<{ word: string; tone: Tone }>;

const word = (tone: Tone, text: string): StateWord => ({ word: text, tone });

const ALLOCATION = {
  requested: word('busy', 'Requested'),
  provisioning: word('busy', 'Starting'),
  active: word('good', 'Active'),
  releasing: word('busy', 'Wiping'),
  released: word('idle', 'Released'),
  failed: word('bad', 'Failed'),
  release_failed: word('bad', 'Cleanup blocked'),
};
const POWER = {
  on: word('good', 'On'),
  stopping: word('busy', 'Stopping'),
  off: word('idle', 'Off'),
  starting: word('busy', 'Starting'),
  rebooting: word('busy', 'Rebooting'),
  reinstalling: word('busy', 'Reinstalling'),
  unknown: word('warn', 'Unknown'),
};
const NODE = {
  bootstrap_issued: word('idle', 'Waiting for its agent'),
  enrolling: word('busy', 'Enrolling'),
  active: word('good', 'Active'),
  offline: word('bad', 'Offline'),
  quarantined: word('bad', 'Quarantined'),
  draining: word('warn', 'Draining'),
  retired: word('idle', 'Retired'),
  removing: word('busy', 'Removing'),
  deleted: word('idle', 'Deleted'),
};
const OCCUPANCY = {
  free: word('good', 'Free'),
  sliced: word('busy', 'Sliced'),
  exclusive: word('busy', 'Whole node'),
  cleaning: word('busy', 'Cleaning'),
  cleanup_blocked: word('bad', 'Cleanup blocked'),
};
const SLOT = {
  available: word('good', 'Available'),
  reserved: word('busy', 'Reserved'),
  in_use: word('busy', 'In use'),
  cleaning: word('busy', 'Cleaning'),
  cleanup_blocked: word('bad', 'Cleanup blocked'),
  quarantined: word('warn', 'Quarantined'),
};
const APPROVAL = {
  approved: word('good', 'Approved'),
  disabled: word('idle', 'Disabled'),
  needs_reapproval: word('warn', 'Needs reapproval'),
};
const HEALTH = {
  ok: word('good', 'Healthy'),
  unhealthy: word('bad', 'Unhealthy'),
  unknown: word('warn', 'Unknown health'),
};
const RUN = {
  pending: word('busy', 'Pending'),
  running: word('busy', 'Running'),
  waiting: word('busy', 'Waiting'),
  done: word('good', 'Done'),
  stuck: word('bad', 'Stuck'),
  cancelled: word('idle', 'Cancelled'),
};
const TASK = {
  queued: word('busy', 'Queued'),
  dispatched: word('busy', 'Sent'),
  running: word('busy', 'Running'),
  completed: word('good', 'Completed'),
  failed: word('bad', 'Failed'),
  expired: word('bad', 'Expired'),
  cancelled: word('idle', 'Cancelled'),
};
const SESSION = {
  ticketed: word('busy', 'Ticket given'),
  opening: word('busy', 'Opening'),
  open: word('good', 'Open'),
  closed: word('idle', 'Closed'),
};
const RESULT = { success: word('good', 'Success'), failure: word('bad', 'Failure'), denied: word('warn', 'Denied') };
const GRANT = {
  pending: word('busy', 'Being installed'),
  installed: word('good', 'Installed'),
  revoking: word('busy', 'Being removed'),
  revoked: word('idle', 'Removed'),
  failed: word('bad', 'Failed'),
};

const ACCOUNT = { enabled: word('good', 'Enabled'), disabled: word('idle', 'Disabled') };
const TOKEN = { active: word('good', 'Active'), revoked: word('idle', 'Revoked'), expired: word('idle', 'Expired') };
const INVITATION = {
  pending: word('busy', 'Pending'),
  accepted: word('good', 'Accepted'),
  revoked: word('idle', 'Withdrawn'),
  expired: word('idle', 'Expired'),
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
} as const satisfies Readonly<Record<string, Readonly<Record<string, StateWord>>>>;

export type StateKind = keyof typeof TABLES;

export const stateWord = (kind: StateKind, state: string): StateWord =>
  (TABLES[kind] as Readonly<Record<string, StateWord>>)[state] ?? { word: state.replaceAll('_', ' '), tone: 'warn' };
