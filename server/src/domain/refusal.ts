/**
 * Why something may not be done now, as a sentence. `is_done` says that it is so already: a caller who asks for it all
 * the same gets what is there and no error, while a button for it has nothing to offer.
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
