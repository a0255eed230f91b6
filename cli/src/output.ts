/**
 * Data goes to standard output, everything else to standard error. A terminal gets tables; a pipe, a CI job and an
 * agent get JSON, whose lists carry a schema_version so that a script can detect a change of format.
 */

import { styleText } from 'node:util';
import type { ApiResponse } from '@gpuaas/sdk';
import { clean, safeJson } from './clean.ts';
import type { Env, Io } from './io.ts';
import { type Column, cell, layPoints, layRecord, layTable } from './table.ts';

export const SCHEMA_VERSION = 1;

/** Set by CI systems and by agents that run commands. */
const AUTOMATION = ['CI', 'AGENT', 'AI_AGENT'] as const;
export const isAutomated = (env: Env): boolean =>
  AUTOMATION.some((name) => env[name] !== undefined && env[name] !== '' && env[name] !== '0' && env[name] !== 'false');

export type OutputOptions = Readonly<{ json: boolean | undefined; io: Pick<Io, 'env' | 'stdout' | 'stderr'> }>;

export type Output = Readonly<{
  json: boolean;
  /** Whether JSON was asked for by name. */
  jsonAsked: boolean;
  /** Whether errors are JSON too: on request, or when standard error is not a terminal. */
  jsonErrors: boolean;
  /** A line of data. Text from the server is cleaned. */
  print(text: string): void;
  /** A line for the user, cleaned likewise. */
  say(text: string): void;
  list<T>(page: { items: readonly T[]; next_cursor: string | null }, columns: readonly Column<T>[]): void;
  /** Sentences below a heading. */
  points(heading: string, points: readonly string[]): void;
  /** Rows that are not a page of the API. */
  table<T>(rows: readonly T[], columns: readonly Column<T>[]): void;
  /** Names on the left, text on the right over as many lines as it needs. */
  record(fields: readonly (readonly [string, string])[]): void;
  item(resource: object, fields?: Readonly<Record<string, unknown>>): void;
  /** The result of a change: a sentence with the ID, and the correlation ID. */
  done(sentence: string, response: ApiResponse<object | undefined>, data?: object): void;
}>;

const textOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(textOf).join(', ');
  if (typeof value === 'object' && value !== null) return JSON.stringify(value);
  return cell(value as string | number | boolean | null | undefined);
};

export const createOutput = ({ json: asked, io: { env, stdout, stderr } }: OutputOptions): Output => {
  const automated = isAutomated(env);
  const json = asked ?? (automated || stdout.isTTY !== true);
  const color = stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  const width = Math.max(40, stdout.isTTY === true ? stdout.columns || 80 : 80);
  // Cleaned here, where text is written, so that no command can forget it.
  const lines = (text: string): string => `${text.split('\n').map(clean).join('\n')}\n`;
  const print = (text: string): void => void stdout.write(lines(text));
  const printJson = (value: object): void => void stdout.write(`${safeJson(value, 2)}\n`);
  const say = (text: string): void => void stderr.write(lines(text));

  const table = <T>(rows: readonly T[], columns: readonly Column<T>[]): void => {
    const [header = '', ...lines] = layTable(rows, columns, width);
    if (color) stdout.write(`${styleText('bold', header, { validateStream: false })}\n`);
    else print(header);
    for (const line of lines) print(line);
  };

  return {
    json,
    jsonAsked: asked === true,
    jsonErrors: asked === true || (json && (automated || stderr.isTTY !== true)),
    print,
    say,
    points: (heading, points) => {
      print([heading, ...layPoints(points, width)].join('\n'));
    },
    table,
    record: (fields) => {
      for (const line of layRecord(fields, width)) print(line);
    },
    list: (page, columns) => {
      if (json) return printJson({ schema_version: SCHEMA_VERSION, items: page.items, next_cursor: page.next_cursor });
      if (page.items.length === 0) say('No results.');
      else table(page.items, columns);
      if (page.next_cursor !== null) say('More rows exist: add --all or raise --limit.');
    },
    item: (resource, fields) => {
      if (json) return printJson({ schema_version: SCHEMA_VERSION, ...resource });
      const shown = Object.entries(fields ?? resource).filter(([name]) => name !== 'actions');
      for (const line of layRecord(
        shown.map(([name, value]) => [name, textOf(value)]),
        width,
      ))
        print(line);
    },
    done: (sentence, response, data) => {
      const meta = {
        correlation_id: response.correlation_id,
        ...(response.idempotency_key === null ? {} : { idempotency_key: response.idempotency_key }),
      };
      if (json) return printJson({ schema_version: SCHEMA_VERSION, ...(data ?? response.data), meta });
      print(sentence);
      say(`correlation id ${meta.correlation_id ?? 'unknown'}`);
    },
  };
};
