/** What the resources of the catalog share: their switch, and the refusal to retire what is used. */
import { isForeignKeyViolation } from '../db/errors.ts';
import { type CatalogUse, inUseSentence, switchAfter, type UsedNoun } from '../domain/catalog.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict } from '../errors.ts';
import { resourceChanged } from '../pipeline/caller.ts';

type Noun = 'region' | 'SKU' | 'pool' | 'VM profile' | 'image';

/** Disabled needs a reason that tenants read; enabled has none. */
export const switchOr400 = (...given: Parameters<typeof switchAfter>) => {
  const after = switchAfter(...given);
  if (after === null)
    throw new AppError('invalid_request', REFUSALS.disabled_reason, {
      errors: [{ pointer: '/body/disabled_reason', code: 'required', message: 'is required while disabled' }],
    });
  return after;
};

export const nameTaken = (noun: Noun, name: string): AppError =>
  new AppError('already_exists', REFUSALS.catalog_name_taken(noun, name));

/** A change of a retired resource is refused, and one of an older version than expected. */
export const assertCurrent = (
  noun: Noun,
  row: Readonly<{ name: string; version: number; retired_at: string | null }>,
  ifMatch?: number,
): void => {
  if (row.retired_at !== null) throw conflict(REFUSALS.catalog_retired(noun, row.name));
  if (ifMatch !== undefined && ifMatch !== row.version) throw resourceChanged(row.version);
};

export const assertUnused = (noun: UsedNoun, name: string, uses: readonly CatalogUse[]): void => {
  const sentence = inUseSentence(noun, name, uses);
  if (sentence !== null)
    throw new AppError('conflict', sentence, {
      reasons: uses.map(({ kind, count, names }) => ({ code: 'in_use', kind, count, names })),
    });
};

/** The schema has the last word: what came between the check and the change is listed too. */
export const retiring = async (
  noun: 'region' | 'SKU' | 'pool',
  name: string,
  retire: () => Promise<void>,
): Promise<void> => {
  try {
    await retire();
  } catch (err) {
    if (isForeignKeyViolation(err)) throw conflict(`The ${noun} ${name} was used in the meantime. Retry.`);
    throw err;
  }
};
