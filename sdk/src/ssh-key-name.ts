import { NAME_LENGTH_MAX } from './values.gen.ts';

/** A name for a key from its comment: `ada@laptop.local` becomes `laptop`. Empty if the comment holds no letters. */
export const sshKeyNameFrom = (comment: string): string =>
  (comment.split('@').at(-1) ?? '')
    .toLowerCase()
    .replace(/\..*$/, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, NAME_LENGTH_MAX)
    .replace(/^-+|-+$/g, '');
