/**
 * The event stream of a project, an organization or the platform. Browsers allow few connections to one host, so one tab reads the
 * stream and shares events and connection state with the others. When it closes, the next tab takes over. Possible gaps
 * are reported, so that data is read again.
 */
import type { Client } from '@gpuaas/sdk';

/** The id of a project or of an organization, or the platform as a whole. */
export type LiveScope = string;
export const PLATFORM_SCOPE: LiveScope = 'platform';

export type LiveState = 'connecting' | 'live' | 'reconnecting';

type Streams = Pick<Client, 'eventStream' | 'organizationEventStream' | 'adminEventStream'>;
export type Listener = Readonly<{
  onState(state: LiveState): void;
  onEvent(type: string): void;
  /** Events may have been missed. */
  onMissed(): void;
  /** The server refuses the stream. The value says whether to retry: not for a session that has ended. */
  onRefused(err: unknown): boolean;
}>;

/** Messages between tabs; a new tab asks for the state. */
type TabMessage = Readonly<{ event: string } | { state: LiveState } | { asks: true }>;

const RETRY_MS = 5_000;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

const createReader = (client: Streams, scope: LiveScope, channel: BroadcastChannel, listener: Listener) => {
  let state: LiveState = 'connecting';
  const post = (message: TabMessage): void => channel.postMessage(message);
  const say = (next: LiveState): void => {
    state = next;
    listener.onState(next);
    post({ state: next });
  };
  const open = (signal: AbortSignal, hasMissed: boolean) => {
    let isNew = !hasMissed;
    const options = {
      signal,
      reconnectsMax: Number.POSITIVE_INFINITY,
      onOpen: () => {
        say('live');
        if (!isNew) listener.onMissed();
        isNew = false;
      },
      onReconnect: () => say('reconnecting'),
    };
    if (scope === PLATFORM_SCOPE) return client.adminEventStream({}, options);
    return scope.startsWith('org_')
      ? client.organizationEventStream({ params: { organization_id: scope } }, options)
      : client.eventStream({ params: { project_id: scope } }, options);
  };
  const read = async (signal: AbortSignal, isTakenOver: boolean): Promise<void> => {
    for (let hasMissed = isTakenOver; !signal.aborted; hasMissed = true) {
      try {
        for await (const { type } of open(signal, hasMissed)) {
          post({ event: type });
          listener.onEvent(type);
        }
      } catch (err) {
        if (signal.aborted) return;
        say('reconnecting');
        if (!listener.onRefused(err)) return;
      }
      await pause(RETRY_MS, signal);
    }
  };
  return { read, answer: () => post({ state }) };
};

/** Listens until the returned function is called. */
export const followEvents = (client: Streams, scope: LiveScope, listener: Listener): (() => void) => {
  const left = new AbortController();
  const name = `gpuaas-events-${scope}`;
  const channel = new BroadcastChannel(name);
  const reader = createReader(client, scope, channel, listener);
  let isReader = false;
  let heard: LiveState = 'connecting';
  const hear = (state: LiveState): void => {
    if (heard === 'reconnecting' && state === 'live') listener.onMissed();
    heard = state;
    listener.onState(state);
  };
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if ('asks' in data) {
      if (isReader) reader.answer();
    } else if (!isReader) {
      if ('event' in data) listener.onEvent(data.event);
      else hear(data.state);
    }
  };
  const readAs = (isTakenOver: boolean) => () => {
    isReader = true;
    return reader.read(left.signal, isTakenOver);
  };
  listener.onState('connecting');
  // Without locks (a page that is not on https or localhost) every tab reads its own stream.
  const started =
    navigator.locks === undefined
      ? readAs(false)()
      : navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
          if (lock !== null) return readAs(false)();
          channel.postMessage({ asks: true } satisfies TabMessage);
          await navigator.locks.request(name, { signal: left.signal }, readAs(true));
        });
  void Promise.resolve(started).catch(() => undefined);
  return () => {
    left.abort();
    channel.close();
  };
};
