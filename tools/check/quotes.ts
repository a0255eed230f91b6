/**
 * A runbook quotes what the product prints, in backticks, so that an operator finds it by search. Each quote occurs in
 * the source. `…` stands for a value.
 */
import { type Check, verdict } from './check.ts';
import { readText, repositoryFiles } from './files.ts';

const FENCED = /^ *```[\s\S]*?^ *```/gm;
const SPAN = /`([^`]+)`/g;

/** Programs and statements that an operator types. */
const TYPED =
  /^(?:gpuaas|gpuaas-[\w-]+|bin\/\S+|systemctl|curl|journalctl|make|df|ls|psql|dmidecode|fmpm|select|update|alter|rollback) /;

const QUOTE = /^[A-Za-z…"][^<>|=]*\s[^<>|=]*$/;

const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** The fixed parts of each quote. A field of JSON counts with its value. */
export const quotesIn = (text: string): readonly Readonly<{ quote: string; parts: readonly string[] }>[] =>
  [...text.replaceAll(FENCED, '').matchAll(SPAN)]
    .map((match) => plain(match[1] ?? ''))
    .filter((quote) => QUOTE.test(quote) && !TYPED.test(quote))
    .map((quote) => ({
      quote,
      parts: quote
        .replace(/^"\w+":/, '')
        .replaceAll('"', '')
        .split('…')
        .map((part) => part.trim())
        .filter((part) => /\w/.test(part)),
    }));

export const missingQuotes = (runbook: string, source: string): string[] =>
  quotesIn(runbook)
    .filter(({ parts }) => parts.some((part) => !source.includes(part)))
    .map(({ quote }) => quote);

const isSource = (file: string): boolean =>
  (/^(?:server|scheduler|node-agent|contract|kit|cli)\/src\/.*\.ts$/.test(file) && !file.endsWith('.test.ts')) ||
  /^cli\/golden\/.*\.txt$/.test(file);

export const runbookQuotes: Check = {
  name: 'quotes in runbooks',
  run: async () => {
    const files = await repositoryFiles();
    const source = plain((await Promise.all(files.filter(isSource).map(readText))).join('\n'));
    const runbooks = files.filter((file) => file.startsWith('doc/operations/runbooks/'));
    const findings: string[] = [];
    for (const file of runbooks)
      for (const quote of missingQuotes(await readText(file), source))
        findings.push(`${file}: the product prints no "${quote}"`);
    return verdict(findings, `${runbooks.length} runbooks`);
  },
};
