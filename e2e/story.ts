/**
 * A test that explains its failure: the message carries the timeline of each recent allocation, the tasks of its hosts and
 * the log of the agents, so that a failure that happened once can be understood without a second run.
 */
import { type TestContext, type TestOptions, test } from 'node:test';
import type { Client } from '@gpuaas/sdk';

const ALLOCATIONS_MAX = 4;
const NODES_MAX = 3;
const TASKS_MAX = 30;
const LOG_LINES_MAX = 60;
/** The report itself must not hang with a control plane that does not respond. */
const REPORT_MS = 20_000;

const part = async (name: string, read: () => Promise<readonly string[]>): Promise<string> => {
  const lines = await read().catch((err: unknown) => [`not available: ${String(err)}`]);
  return `--- ${name}\n${lines.join('\n')}`;
};

const allocationParts = async (client: Client): Promise<readonly string[]> => {
  const { projects } = await client.meGet();
  const found = await Promise.all(
    projects.map(async ({ id: project_id }) => {
      const { items } = await client.allocationList({ params: { project_id }, query: { limit: ALLOCATIONS_MAX } });
      return Promise.all(
        items.map(({ id, name, state, state_reason }) =>
          part(`allocation ${name} (${id}): ${state} ${state_reason ?? ''}`, async () => {
            const { items: steps } = await client.allocationTimeline({
              params: { project_id, allocation_id: id },
              query: { limit: 100 },
            });
            return steps.map(
              (step) =>
                `${step.started_at} ${step.workflow} ${step.step} #${step.attempt} ${step.outcome} ${step.duration_ms} ms ${step.detail ?? ''}`,
            );
          }),
        ),
      );
    }),
  );
  return found.flat();
};

const nodeParts = async (client: Client): Promise<readonly string[]> => {
  const { items } = await client.adminNodeList({ query: { limit: NODES_MAX } });
  return Promise.all(
    items.flatMap(({ id: node_id, name, state }) => [
      part(`tasks of ${name} (${state})`, async () => {
        const { items: tasks } = await client.adminNodeTaskList({ params: { node_id }, query: { limit: TASKS_MAX } });
        return tasks.map(
          (task) =>
            `${task.created_at} ${task.kind} #${task.attempt} ${task.state} ${task.percent ?? 0}% ${task.started_at ?? '-'} ${task.finished_at ?? '-'} ${task.state_reason ?? ''}`,
        );
      }),
      part(`agent log of ${name}`, async () => {
        const { items: lines } = await client.adminLogList({ query: { node_id, limit: LOG_LINES_MAX } });
        return lines.map((line) => `${line.logged_at} ${line.level} ${line.message}`).toReversed();
      }),
    ]),
  );
};

/** What the control plane knows of allocations, tasks and agents. */
export const failureReport = async (client: Client): Promise<string> => {
  const parts = [allocationParts(client), nodeParts(client)].map((reading) =>
    reading.catch((err: unknown): readonly string[] => [`--- no report: ${String(err)}`]),
  );
  return (await Promise.all(parts)).flat().join('\n');
};

const late = (ms: number, what: string): Promise<never> =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`${what} did not finish within ${ms / 1000} s`)), ms).unref();
  });

type Body = (t: TestContext) => unknown;

/**
 * `test` of node:test whose failures carry the report. A timeout applies to the test; the report takes additional time.
 */
export const createStory =
  (report: () => Promise<string>) =>
  (name: string, ...given: readonly [Body] | readonly [TestOptions, Body]): void => {
    const [options, body] = given.length === 1 ? [{}, given[0]] : given;
    const limit = options.timeout;
    const more = limit === undefined ? {} : { timeout: limit + 2 * REPORT_MS };
    test(name, { ...options, ...more }, async (t) => {
      try {
        const done = Promise.resolve(body(t));
        await (limit === undefined ? done : Promise.race([done, late(limit, 'the story')]));
      } catch (error) {
        const text = await Promise.race([report(), late(REPORT_MS, 'the report')]).catch(String);
        throw new Error(`${error instanceof Error ? error.message : String(error)}\n${text}`, { cause: error });
      }
    });
  };
