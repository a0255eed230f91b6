/**
 * One event stream per tenant, as an SDK follows it: it connects again after a loss, from the last event that it has.
 * What it was sent must be what the list of events says, in the same order.
 */
import { pause } from '@gpuaas/kit';
import { eventually } from '../../e2e/sim/platform.ts';
import type { BaseTenant } from './base.ts';
import type { World } from './world.ts';

export type Followed = Readonly<{
  tenant: BaseTenant;
  ids: readonly string[];
  wrong: readonly string[];
  /** Waits for an event; false when it does not come. */
  has(id: string): Promise<boolean>;
  stop(): Promise<void>;
}>;

const RETRY_MS = 50;
const LATE_MS = 20_000;

/** The ids of events, and the problem that ended the stream. */
const readFrames = async (body: ReadableStream<Uint8Array>, take: (frame: string) => void): Promise<void> => {
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) take(frame);
  }
};

/** Begins with the events after `last`. */
export const follow = (world: World, tenant: BaseTenant, last: string): Followed => {
  const ids: string[] = [];
  const wrong: string[] = [];
  const stopped = new AbortController();

  const take = (frame: string): void => {
    if (/^event: problem$/m.test(frame)) wrong.push(`the stream of ${tenant.name} ended: ${frame}`);
    const id = /^id: (\S+)$/m.exec(frame)?.[1];
    if (id !== undefined) ids.push(id);
  };

  const once = async (): Promise<void> => {
    const { url, killed } = await world.process('api');
    const broken = new AbortController();
    killed.catch(() => broken.abort());
    const answer = await fetch(`${url}/api/v1/projects/${tenant.project_id}/events/stream`, {
      headers: { ...world.headersOf(tenant.name), 'last-event-id': ids.at(-1) ?? last },
      signal: AbortSignal.any([stopped.signal, broken.signal]),
    });
    if (answer.status === 200 && answer.body !== null) return readFrames(answer.body, take);
    const said = await answer.text();
    if (answer.status !== 503) wrong.push(`the stream of ${tenant.name} was refused with ${answer.status}: ${said}`);
  };

  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      // A connection that broke is made again.
      await once().catch(() => {});
      await pause(RETRY_MS, stopped.signal);
    }
  };
  const running = run();
  return {
    tenant,
    ids,
    wrong,
    has: (id) =>
      eventually('the stream has it', () => ids.includes(id) || undefined, LATE_MS).then(
        () => true,
        () => false,
      ),
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
};
