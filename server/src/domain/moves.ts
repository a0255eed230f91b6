/** Graphs of states, and how long a state may last. */

/** A graph of states: each names the states that it may become. To stay in a state is no move. */
export type Moves<State extends string> = Readonly<Record<State, readonly State[]>>;

/** The states from which `To` may be entered. */
export type SourceOf<Graph extends Moves<string>, To> = {
  [From in keyof Graph]: To extends Graph[From][number] ? From : never;
}[keyof Graph];

/** The same, for the `where` of the update that enters it. */
export const sourcesIn = <Graph extends Moves<string>, To extends keyof Graph & string>(
  graph: Graph,
  to: To,
): readonly SourceOf<Graph, To>[] =>
  Object.entries(graph).flatMap(([from, next]) => (next.includes(to) ? [from as SourceOf<Graph, To>] : []));

/** Who ends a state, with what, and how long it may last. Null for a state that may last. */
export type Wait = Readonly<{ owner: 'operator' | 'host' | 'workflow'; until: string; deadline_s: number }>;
export type Waits<State extends string> = Readonly<Record<State, Wait | null>>;

export const deadlineOf = (wait: Wait | null, since: string): string | null =>
  wait === null ? null : new Date(Date.parse(since) + wait.deadline_s * 1_000).toISOString();

/** How long each state may last that must be left. */
export const deadlinesOf = (waits: Waits<string>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(waits).flatMap(([state, wait]) => (wait === null ? [] : [[state, wait.deadline_s]])),
  );
