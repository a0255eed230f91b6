/** The CLI command equivalent to a form. Values are quoted, so that a copied command does exactly what the form does. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

export const shellQuote = (word: string): string => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

export type Flag = readonly [name: string, value: string | number | boolean | null | undefined];

/** `gpuaas allocation create --name train --gpus 4`; flags without a value are left out. */
export const command = (words: readonly string[], flags: readonly Flag[] = []): string =>
  [
    'gpuaas',
    ...words.map(shellQuote),
    ...flags.flatMap(([name, value]) =>
      value === null || value === undefined || value === false || value === ''
        ? []
        : value === true
          ? [`--${name}`]
          : [`--${name}`, shellQuote(String(value))],
    ),
  ].join(' ');
