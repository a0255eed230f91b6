/** Pages stay current through the event stream. Events are hints: the affected data is read again. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { useBackend } from './backend.tsx';
import { followEvents, type LiveScope, type LiveState } from './event-stream.ts';
import { isSignedOut } from './query-client.ts';

/** Operations affected by an event: the first part of the event type, and the prefixes of the operations. */
const TOLD_BY: Readonly<Record<string, readonly string[]>> = {
  allocation: [
    'allocation',
    'adminAllocation',
    'usage',
    'quota',
    'adminQuota',
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
  node: [
    'adminNode',
    'adminSlot',
    'adminPool',
    'adminVmProfile',
    'node',
    'adminCapacity',
    'capacity',
    'health',
    'adminTrace',
    'adminSetup',
  ],
  project: ['project', 'me'],
  organization: ['organization', 'adminOrganization', 'me'],
  invitation: ['invitation'],
  service_account: ['serviceAccount'],
  access_policy: ['accessPolicy'],
  quota: ['quota', 'adminQuota'],
};

export const isChangedBy = (operation: string, eventType: string): boolean =>
  (TOLD_BY[eventType.split('.')[0] ?? ''] ?? []).some((prefix) => operation.startsWith(prefix));

const SETTLE_MS = 200;

let liveState: LiveState | 'off' = 'off';
const watchers = new Set<() => void>();
const setLiveState = (state: LiveState | 'off'): void => {
  if (state === liveState) return;
  liveState = state;
  for (const watcher of watchers) watcher();
};

export const useLiveState = (): LiveState | 'off' =>
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => liveState,
  );

/** Keeps the shown data of the scope current while the caller is mounted. */
export const useLive = (scope: LiveScope | null): void => {
  const backend = useBackend();
  const queries = useQueryClient();
  useEffect(() => {
    if (scope === null) return;
    const types = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const refresh = (): void => {
      timer = undefined;
      const changed = [...types];
      types.clear();
      void queries.invalidateQueries({
        predicate: ({ queryKey }) => changed.some((type) => isChangedBy(String(queryKey[0]), type)),
      });
    };
    const leave = followEvents(backend.client, scope, {
      onState: setLiveState,
      onEvent: (type) => {
        types.add(type);
        timer ??= setTimeout(refresh, SETTLE_MS);
      },
      onMissed: () => void queries.invalidateQueries(),
      onRefused: (err) => {
        if (!isSignedOut(err)) return true;
        void queries.invalidateQueries({ queryKey: ['meGet'] });
        return false;
      },
    });
    return () => {
      clearTimeout(timer);
      leave();
      setLiveState('off');
    };
  }, [backend, queries, scope]);
};
