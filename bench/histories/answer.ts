/** What the response to an accepted command must say, besides its status. The contract has checked its shape. */
import { POWER_DURING } from '../../server/src/domain/power.ts';
import type { Command } from './command.ts';

// biome-ignore lint/suspicious/noExplicitAny: the contract has checked every response
type Json = any;

const SLOT_AFTER = { quarantine: ['quarantined'], repair: ['cleaning', 'available', 'quarantined'] } as const;
const RELEASE_STATES = ['releasing', 'released', 'release_failed', 'failed'];
const LIVE_RUN = ['pending', 'running', 'waiting'];

/** The launch has moved, and the host that it left is not cleaned up yet. */
const leavesHost = (body: Json): boolean =>
  (body.claims ?? []).some((claim: Json) => claim.released_at === null && claim.node_id !== body.node_id);

const slotIs = (to: Extract<Command, { do: 'slot' }>['to'], body: Json): boolean => {
  if (to === 'disable') return body.approval === 'disabled';
  if (to === 'enable') return body.approval === 'approved';
  return (SLOT_AFTER[to] as readonly string[]).includes(body.status);
};

/** Null where any content is right. */
const isRight = (command: Command, body: Json): boolean | null => {
  switch (command.do) {
    case 'launch':
      return body.state === 'requested' && body.gpu_count === command.gpus && body.power === null;
    case 'release':
      return RELEASE_STATES.includes(body.state) && body.power === null;
    case 'power':
      return body.state === 'active' && body.power?.state === POWER_DURING[command.to] && body.power.is_charged;
    case 'protect':
      return body.is_protected === command.on;
    case 'grant':
      return body.state === 'pending' && body.revoked_at === null;
    case 'revoke':
      return body.state === 'revoking' || body.state === 'revoked';
    case 'quota':
      return body.gpu_limit === command.limit;
    case 'drain':
      return (body.state === 'draining') === command.on;
    case 'hold':
      return body.is_held === command.on;
    case 'convert':
      return body.capacity_mode === command.to;
    case 'clear_failures':
      return body.launch_failures === 0;
    case 'retire':
      return body.state === 'retired';
    case 'slot':
      return slotIs(command.to, body);
    case 'force_release':
      return RELEASE_STATES.includes(body.allocation.state);
    case 'run_retry':
      return LIVE_RUN.includes(body.state);
    case 'run_cancel':
      return LIVE_RUN.includes(body.state) || body.state === 'cancelled';
    case 'approve':
      return body.slots.every(({ approval }: Json) => approval === 'approved');
    case 'project_create':
      return body.id.startsWith('prj_') && /^project-\d+$/.test(body.name);
    case 'force_cleanup':
      // That of a host which a launch left says nothing about the launch.
      return leavesHost(body) || RELEASE_STATES.includes((body.allocation ?? body).state);
    case 'rotate':
      // Another process may make the key, later than the activation is asked for.
      return ['requested', 'staged', 'active'].includes(body.state) && body.purpose === command.purpose;
    default:
      return null;
  }
};

/** What is wrong with it, as a sentence. */
export const judgeAnswer = (command: Command, target: string | null, body: Json): string | null => {
  if (target !== null && (body?.allocation?.id ?? body?.id) !== target)
    return `${JSON.stringify(command)} of ${target} was answered about another: ${JSON.stringify(body)}`;
  return isRight(command, body) === false
    ? `${JSON.stringify(command)} was accepted with a response that says something else: ${JSON.stringify(body)}`
    : null;
};

/** A refusal says why, in words. */
export const judgeRefusal = (command: Command, status: number, body: Json): string | null =>
  typeof body?.code === 'string' && typeof body.detail === 'string' && body.detail.length > 10
    ? null
    : `${JSON.stringify(command)} was refused with ${status} and no reason: ${JSON.stringify(body)}`;
