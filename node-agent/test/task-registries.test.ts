/**
 * A task kind is declared in the contract; the compiler names each place that lacks an entry for it. Here an entry is taken
 * away from each place: a case that compiles fails `make types`, because then its `@ts-expect-error` expects nothing.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TASK_KINDS, type TaskKind } from '@gpuaas/contract/node';
import { RESULT_PROCESSORS } from '../../server/src/agents/result-processors.ts';
import { OPERATIONS_OF_TASK } from '../src/host/sim/fault.ts';
import { handlers } from '../src/tasks/index.ts';
import type { AgentHandlers, HostHandlers } from '../src/tasks/task.ts';

const without = <Entries extends object, Kind extends keyof Entries>(
  entries: Entries,
  kind: Kind,
): Omit<Entries, Kind> => {
  const { [kind]: _, ...others } = entries;
  return others;
};

const agentHandlers: AgentHandlers = { 'agent.update': undefined, 'stream.open': undefined };

test('a task kind without a handler, a result processor or an operation of the simulator does not compile', () => {
  // @ts-expect-error image.pull has no handler
  const noHandler: HostHandlers = without(handlers, 'image.pull');
  // @ts-expect-error agent.update has no handler
  const noAgentHandler: AgentHandlers = without(agentHandlers, 'agent.update');
  // @ts-expect-error image.pull has no result processor
  const noProcessor: typeof RESULT_PROCESSORS = without(RESULT_PROCESSORS, 'image.pull');
  // @ts-expect-error image.pull has no operation in the simulator
  const noOperation: typeof OPERATIONS_OF_TASK = without(OPERATIONS_OF_TASK, 'image.pull');
  for (const entries of [noHandler, noProcessor, noOperation]) assert.equal('image.pull' in entries, false);
  assert.equal('agent.update' in noAgentHandler, false);
});

test('an entry for a task kind that is not declared does not compile', () => {
  const KIND = 'toy.count_disks';
  // @ts-expect-error there is no such kind
  const handler: HostHandlers = { ...handlers, [KIND]: async () => ({}) } satisfies HostHandlers;
  // @ts-expect-error there is no such kind
  const processor = { ...RESULT_PROCESSORS, [KIND]: {} } satisfies typeof RESULT_PROCESSORS;
  // @ts-expect-error there is no such kind
  const operation = { ...OPERATIONS_OF_TASK, [KIND]: [] } satisfies typeof OPERATIONS_OF_TASK;
  for (const entries of [handler, processor, operation]) assert.equal(KIND in entries, true);
});

test('every task kind has a handler on the host or in the agent', () => {
  // Does not compile if a kind belongs to neither.
  const handled: Readonly<Record<TaskKind, unknown>> = { ...handlers, ...agentHandlers };
  assert.deepEqual(Object.keys(handled).toSorted(), TASK_KINDS.toSorted());
});
