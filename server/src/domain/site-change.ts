/** A change of a site file as operators read it. */
import type { SiteChange, Static } from '@gpuaas/contract';
import { type AnyRow, changedFields, type PlannedChange } from './site.ts';

/** Where null is a value of its own. */
const WORDS_OF_NULL: Readonly<Record<string, string>> = { gpu_limit: 'no limit', default_gpu_limit: 'no limit' };

const textOf = (field: string, value: unknown): string | null => {
  if (value === null) return WORDS_OF_NULL[field] ?? null;
  if (value === undefined || value === '') return null;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
  return String(value);
};

/** The pool serves another organization afterwards, which its nodes do not allow. */
export const movesPool = (change: PlannedChange): boolean =>
  change.section === 'pools' &&
  change.before !== null &&
  change.after !== null &&
  change.before.organization !== change.after.organization;

/** A change as operators read it. */
export const changeView = (change: PlannedChange, blockers: readonly string[]): Static<typeof SiteChange> => {
  const { section, name, action } = change;
  const before: AnyRow = change.before ?? {};
  const after: AnyRow = change.after ?? change.left ?? {};
  const fields = changedFields(before, after).map((field) => ({
    name: field,
    before: textOf(field, before[field]),
    after: textOf(field, after[field]),
  }));
  return { section, name, action, fields, blockers: [...blockers] };
};
