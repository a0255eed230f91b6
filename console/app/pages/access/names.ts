/** What the API takes as a name and as a text for people, said before it has to refuse it. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}<>]/u;

export const NAME_RULE = 'Lower-case letters, digits and hyphens, at most 63.';

export const nameRefusal = (name: string, what = 'name'): string | null => {
  if (name === '') return `Give it a ${what}.`;
  return NAME.test(name) ? null : `The ${what} may have lower-case letters, digits and hyphens between them.`;
};

export const textRefusal = (text: string, what: string, longest: number): string | null => {
  if (text === '') return `Write the ${what}.`;
  if (text.length > longest) return `The ${what} may have ${longest} characters at most.`;
  return HIDDEN.test(text) ? `The ${what} may not hold <, > or invisible characters.` : null;
};

/** For a text that may be left out. */
export const optionalTextRefusal = (text: string, what: string, longest: number): string | null =>
  text === '' ? null : textRefusal(text, what, longest);

/** What a name in words would be as a name: a start for the field, which stays editable. */
export const nameFrom = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
