/** Relative times that update automatically and show the exact time in UTC on hover. */
import { useSyncExternalStore } from 'react';
import { ago, duration, exact, span, until } from '../format/time.ts';

const TICK_MS = 1_000;
let now = Date.now();
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for the whole page. It runs only while a component uses it. */
export const useNow = (): number =>
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      timer ??= setInterval(() => {
        now = Date.now();
        for (const one of watchers) one();
      }, TICK_MS);
      return () => {
        watchers.delete(watcher);
        if (watchers.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    () => now,
  );

export const Ago = ({ at }: Readonly<{ at: string }>) => (
  <time dateTime={at} title={exact(at)} className="tabular">
    {ago(at, useNow())}
  </time>
);

export const Until = ({ at }: Readonly<{ at: string }>) => (
  <time dateTime={at} title={exact(at)} className="tabular">
    {until(at, useNow())}
  </time>
);

/** The elapsed time. */
export const Elapsed = ({ since }: Readonly<{ since: string }>) => (
  <time dateTime={since} title={exact(since)} className="tabular">
    {span(useNow() - Date.parse(since))}
  </time>
);

export const Exact = ({ at }: Readonly<{ at: string }>) => (
  <time dateTime={at} className="tabular">
    {exact(at)}
  </time>
);

export const Took = ({ ms }: Readonly<{ ms: number }>) => <span className="tabular">{duration(ms)}</span>;
