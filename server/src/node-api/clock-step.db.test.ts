import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testClock } from '../../test/app.ts';
import { useChannel } from '../../test/channel.ts';
import { until } from '../../test/until.ts';

describe('a server process whose clock is set back', () => {
  const clock = testClock();
  const channel = useChannel({}, { clock });
  const hostTime = () => ({ clock: new Date().toISOString() });

  it('keeps agents connected, ends held polls in their time and dispatches work', async () => {
    const { ask, join, rows, test, stateOf } = channel();
    const agent = await join();
    const held = agent.wait({ ...hostTime(), wait_s: 2 });
    await until('the poll is held', () => (test.app.node_api?.dispatcher.size() ?? 0) > 0);
    let answer: Awaited<typeof held> | undefined;
    void held.then((given) => (answer = given));
    clock.advance(-60_000);
    await until('it ends, long before that minute has passed', () => answer !== undefined);
    assert.deepEqual(answer?.body.tasks, []);
    clock.advance(55_000);
    const id = await ask(agent.node_id);
    assert.equal((await agent.wait({ ...hostTime(), wait_s: 5 })).body.tasks.length, 1);
    await until('the task is marked', async () => (await stateOf(id)).state === 'dispatched');
    await until('it is seen, and its clock is compared with the database', async () => {
      const [row] = await rows<{ is_recent: boolean; clock_skew_ms: number; database_skew_ms: number }>(
        `select last_seen_at between now() - interval '10 s' and clock_timestamp() as is_recent, clock_skew_ms, database_skew_ms
         from node_agents where node_id = $1`,
        [agent.node_id],
      );
      return row?.is_recent === true && row.clock_skew_ms > 4_000 && Math.abs(row.database_skew_ms) < 4_000;
    });
    agent.close();
  });

  it('ends no run and no task early, and leaves no usage negative', async () => {
    const { ask, join, rows, stateOf, wake } = channel();
    const agent = await join();
    const id = await ask(agent.node_id, { expires_in_s: 600 });
    clock.advance(-3_600_000);
    await wake();
    assert.deepEqual((await agent.wait(hostTime())).body.tasks, [], 'its host would refuse what this process signs');
    assert.equal((await stateOf(id)).state, 'queued');
    clock.advance(3_605_000);
    assert.equal((await agent.wait({ ...hostTime(), wait_s: 5 })).body.tasks.length, 1);
    const wrong = await rows(
      "select 1 from nodes where state = 'offline' union all select 1 from usage_records where ended_at < started_at",
    );
    assert.deepEqual(wrong, []);
    agent.close();
  });
});
