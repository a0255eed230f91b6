/**
 * Why an action is not possible now. `is_done` means that it is already done: a repeated request returns the current
 * state without an error, and no button is offered.
 */
export type Refusal = Readonly<{ reason: string; is_done: boolean }>;

export const refused = (reason: string): Refusal => ({ reason, is_done: false });
export const done = (reason: string): Refusal => ({ reason, is_done: true });

/** The first of several refusals. */
export const firstOf = (...refusals: readonly (Refusal | false | null)[]): Refusal | null =>
  refusals.find((refusal): refusal is Refusal => refusal !== false && refusal !== null) ?? null;

/** One entry of a resource's `actions`. */
export type Action = { name: string; allowed: boolean; reason: string | null };
export const action = (name: string, reason: string | null): Action => ({ name, allowed: reason === null, reason });
