/**
 * Decisions in words. The user reads what is wrong, what holds the capacity and what fits now; operators read the
 * nodes left after each filter. Neither text holds a host name or a device address: the model has none.
 */
import type { Alternative, Decision, PlacementRequest, Unplaceable } from './model.ts';
import { gpus } from './reasons.ts';

const asked = (request: PlacementRequest): string =>
  `${gpus(request.gpu_count)} of ${request.sku} in ${request.region}`;

const offer = (alternative: Alternative): string =>
  `${gpus(alternative.gpu_count)} of ${alternative.sku} in ${alternative.region}`;

const offers = (alternatives: readonly Alternative[]): string =>
  alternatives.length === 0 ? '' : ` Fits now: ${alternatives.map(offer).join('; ')}.`;

/** One line for the user, with only the first reason, the verdict; the counts are in `reasons`. */
export const explainToUser = (decision: Decision, request: PlacementRequest): string =>
  decision.kind === 'placed'
    ? `${asked(request)} fit now.`
    : `${decision.reasons[0]?.detail ?? `${asked(request)} cannot be placed.`}${offers(decision.alternatives)}`;

const filterLines = (decision: Unplaceable): readonly string[] => {
  const width = Math.max(...decision.filters.map(({ name }) => name.length));
  return decision.filters.map(({ name, survivors }) => `  ${name.padEnd(width)}  ${survivors}`);
};

const heldLine = (decision: Unplaceable): string => {
  const parts = Object.entries(decision.unavailable_gpus).filter(([, count]) => count > 0);
  return `unavailable: ${parts.map(([kind, count]) => `${kind} ${count}`).join(', ') || 'nothing'}`;
};

/** Several lines for operators. */
export const explainToOperator = (decision: Decision, request: PlacementRequest): string => {
  if (decision.kind === 'placed') {
    const scores = Object.entries(decision.scores).map(([name, score]) => `${name} ${score}`);
    return [
      `placed: ${asked(request)} on ${decision.node_id}`,
      `slots: ${decision.slot_ids.join(', ') || 'the whole node'}`,
      ...(decision.partition_id === null ? [] : [`partition: ${decision.partition_id}`]),
      ...(scores.length === 0 ? [] : [`scores: ${scores.join(', ')}`]),
    ].join('\n');
  }
  const convertible = decision.convertible_node_ids;
  return [
    `${decision.code}: ${asked(request)}`,
    `nodes left after each filter, of ${decision.nodes_total}:`,
    ...filterLines(decision),
    `free ${decision.free_gpus} of ${decision.gpus_total}, largest set ${decision.largest_set}`,
    heldLine(decision),
    ...(convertible.length === 0 ? [] : [`could be converted to bare metal: ${convertible.join(', ')}`]),
    ...decision.alternatives.map((alternative) => `fits now: ${offer(alternative)} (${alternative.kind})`),
  ].join('\n');
};
