/**
 * Pages keep themselves current by the event stream. Events are hints: what one is about is read again. Browsers allow few
 * connections to one address, so of all tabs that look at the same stream one reads it and tells the others.
 */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { useBackend } from './backend.tsx';
import type { Backend } from './client.ts';

/** A project's id, or the platform as a whole. */
export type LiveScope = string;
export const PLATFORM_SCOPE: LiveScope = 'platform';

type LiveEvent = Readonly<{ id: string; type: string; subject: string }>;
export type LiveState = 'connecting' | 'live' | 'reconnecting' | 'off';

/** Which operations tell of what an event is about: the first part of its type, and how those operations begin. */
const TOLD_BY: Readonly<Record<string, readonly string[]>> = {
  allocation: [
    'allocation',
    'adminAllocation',
    'usage',
    'quota',
    'capacity',
    'terminalSession',
    'accessGrant',
    'trace',
  ],
  workflow_run: [
    'allocation',
    'adminAllocation',
    'workflowRun',
    'adminWorkflowRun',
    'adminNode',
    'adminSlot',
    'node',
    'trace',
    'adminTrace',
  ],
  node: ['adminNode', 'adminSlot', 'node', 'adminCapacity', 'capacity', 'health', 'adminTrace'],
  project: ['project', 'me'],
  organization: ['organization', 'me'],
  invitation: ['invitation'],
  service_account: ['serviceAccount'],
  access_policy: ['accessPolicy'],
};

export const isToldBy = (operation: string, eventType: string): boolean =>
  (TOLD_BY[eventType.split('.')[0] ?? ''] ?? []).some((prefix) => operation.startsWith(prefix));

const SETTLE_MS = 200;
const RETRY_MS = 5_000;

let liveState: LiveState = 'off';
const watchers = new Set<() => void>();
const setLiveState = (state: LiveState): void => {
  if (state === liveState) return;
  liveState = state;
  for (const watcher of watchers) watcher();
};

export const useLiveState = (): LiveState =>
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => liveState,
  );

const openStream = ({ client }: Backend, scope: LiveScope, signal: AbortSignal): AsyncIterable<LiveEvent> => {
  const options = { signal, reconnectsMax: Number.POSITIVE_INFINITY, onReconnect: () => setLiveState('reconnecting') };
  return scope === PLATFORM_SCOPE
    ? client.adminEventStream({}, options)
    : client.eventStream({ params: { project_id: scope } }, options);
};

/** Reads for all tabs as long as this one lives; the browser gives the lock to the next when it is gone. */
const lead = async (
  backend: Backend,
  scope: LiveScope,
  channel: BroadcastChannel,
  tell: (event: LiveEvent) => void,
  signal: AbortSignal,
) => {
  while (!signal.aborted) {
    try {
      setLiveState('live');
      for await (const event of openStream(backend, scope, signal)) {
        setLiveState('live');
        const { id, type, subject } = event;
        channel.postMessage({ id, type, subject });
        tell(event);
      }
    } catch {
      if (signal.aborted) return;
      setLiveState('reconnecting');
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
};

const follow = (backend: Backend, scope: LiveScope, tell: (event: LiveEvent) => void): (() => void) => {
  const left = new AbortController();
  const name = `gpuaas-events-${scope}`;
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }: MessageEvent<LiveEvent>) => {
    setLiveState('live');
    tell(data);
  };
  setLiveState('connecting');
  const asLeader = () => lead(backend, scope, channel, tell, left.signal);
  // Without locks (a page that is not on https or localhost) every tab reads for itself.
  const started =
    navigator.locks === undefined
      ? asLeader()
      : navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
          if (lock !== null) return asLeader();
          setLiveState('live');
          await navigator.locks.request(name, { signal: left.signal }, asLeader);
        });
  void Promise.resolve(started).catch(() => undefined);
  return () => {
    left.abort();
    channel.close();
    setLiveState('off');
  };
};

/** Keeps what is shown of the scope current while the caller is mounted. */
export const useLive = (scope: LiveScope | null): void => {
  const backend = useBackend();
  const queries = useQueryClient();
  useEffect(() => {
    if (scope === null) return;
    const types = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const refresh = (): void => {
      timer = undefined;
      const told = [...types];
      types.clear();
      void queries.invalidateQueries({
        predicate: ({ queryKey }) => told.some((type) => isToldBy(String(queryKey[0]), type)),
      });
    };
    const leave = follow(backend, scope, ({ type }) => {
      types.add(type);
      timer ??= setTimeout(refresh, SETTLE_MS);
    });
    return () => {
      clearTimeout(timer);
      leave();
    };
  }, [backend, queries, scope]);
};
