/**
 * The rows of a trace in order. Consecutive log lines are folded into one row, so that failures are easy to find. A log
 * line with a failure is never folded.
 */
import { TRACE_SOURCES, type TraceEntry } from '@gpuaas/sdk';

export type TraceRow =
  | Readonly<{ kind: 'entry'; key: string; entry: TraceEntry }>
  | Readonly<{ kind: 'lines'; key: string; lines: readonly TraceEntry[] }>;

export type Source = TraceEntry['source'];

/** The sources named in the URL, in a fixed order; all sources if it names no known one. */
export const sourcesOf = (text: string | undefined): readonly Source[] => {
  const named = new Set(text?.split(','));
  const known = TRACE_SOURCES.filter((source) => named.has(source));
  return known.length === 0 ? TRACE_SOURCES : known;
};

const isFoldable = (entry: TraceEntry): boolean => entry.source === 'log' && !entry.is_failure;

const isSameLane = (one: TraceEntry, other: TraceEntry): boolean =>
  one.host_role === other.host_role && one.host_name === other.host_name;

export const rowsOf = (entries: readonly TraceEntry[], sources: readonly Source[]): readonly TraceRow[] => {
  const rows: TraceRow[] = [];
  let run: TraceEntry[] = [];
  const close = (): void => {
    const [first] = run;
    if (first === undefined) return;
    rows.push(
      run.length === 1
        ? { kind: 'entry', key: first.key, entry: first }
        : { kind: 'lines', key: first.key, lines: run },
    );
    run = [];
  };
  for (const entry of entries) {
    if (!sources.includes(entry.source)) continue;
    const [first] = run;
    if (isFoldable(entry) && (first === undefined || isSameLane(first, entry))) {
      run.push(entry);
      continue;
    }
    close();
    if (isFoldable(entry)) run = [entry];
    else rows.push({ kind: 'entry', key: entry.key, entry });
  }
  close();
  return rows;
};

/** `+3.2 s` after the first entry: offsets are easier to compare than absolute times. */
export const offsetOf = (at: string, first: string): string => {
  const ms = Date.parse(at) - Date.parse(first);
  if (ms < 60_000) return `+${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 600 ? `+${minutes} min ${Math.floor((ms % 60_000) / 1000)} s` : `+${Math.floor(minutes / 60)} h`;
};
