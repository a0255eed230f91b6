/**
 * Text from the server is untrusted: names, reasons and log lines are written by other users. Characters that could
 * move the cursor, change the title, or reorder or hide text never reach a terminal.
 */
import { stripVTControlCharacters } from 'node:util';

/** Control characters, invisible and direction-changing ones, and the two line separators that are not line feeds. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu;

/** One line of printable text. */
export const clean = (text: string): string =>
  stripVTControlCharacters(text.replace(/[\t\r\n]+/g, ' ')).replace(UNSAFE, '');

/** JSON escapes most control characters; the rest are escaped here, which changes no value. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(UNSAFE_IN_JSON, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const COMBINING = /\p{M}/u;

const cellsOf = (character: string): number => (COMBINING.test(character) ? 0 : WIDE.test(character) ? 2 : 1);

/** The number of terminal cells that the text takes. */
export const widthOf = (text: string): number => {
  let cells = 0;
  for (const character of text) cells += cellsOf(character);
  return cells;
};

export const truncate = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let cells = 0;
  for (const character of text) {
    cells += cellsOf(character);
    if (cells > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
};

/** The same from the other side, for values whose end matters most. */
export const truncateStart = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text;
  const kept: string[] = [];
  let cells = 0;
  for (const character of [...text].reverse()) {
    cells += cellsOf(character);
    if (cells > width - 1) break;
    kept.unshift(character);
  }
  return `…${kept.join('')}`;
};

/** A command line that a shell parses into exactly these words. */
export const commandLine = (words: readonly string[]): string =>
  words
    .map(clean)
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
