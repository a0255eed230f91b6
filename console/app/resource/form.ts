/**
 * A change of a resource, declared: its operation, its fields and the equivalent command. The limits of the fields are
 * the contract's (`inputs.gen.ts`); a declaration adds the words. A field that the contract gains appears by itself.
 */
import type { CallId, Permission } from '@gpuaas/sdk';
import type { ReactNode } from 'react';
import type { RequestOf, ResponseOf } from '../api/call.ts';
import type { Flag } from '../format/shell.ts';
import type { Secret } from '../ui/secret-view.tsx';
import { type FieldValue, type Input, type Inputs, missingText, problemOf, sentOf, shownOf } from './input.ts';

export type Values = Readonly<Record<string, FieldValue>>;
export type Body = Readonly<Record<string, unknown>>;
export type Choice = Readonly<{ value: string; label: string }>;

export type FieldWords = Readonly<{
  label: string;
  /** Instead of the contract's; null for none. */
  description?: string | null | ((values: Values) => string);
  /** What a text that does not match must look like. */
  rule?: string;
  placeholder?: string;
  /** Several lines. */
  isLong?: boolean;
  /** Beside another short field, where there is room. */
  isShort?: boolean;
  /** The contract's choices in words. */
  optionLabels?: Readonly<Record<string, string>>;
  /** What an unlimited number is called. */
  noneLabel?: string;
  /** A hook: the values to choose from, where the contract does not list them. */
  useChoices?: () => readonly Choice[];
  /** In a new resource. */
  initial?: FieldValue;
  isShown?: (values: Values) => boolean;
  /** Although the contract lets it be left out. */
  isNeeded?: boolean;
  /** The flag of the command; null for none. Otherwise the name of the field. */
  flag?: string | null | ((sent: never) => readonly Flag[]);
}>;

export type Field = FieldWords & Readonly<{ name: string; input: Input }>;

const labelOf = (name: string): string => {
  const words = name.replaceAll('_', ' ');
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
};

/** The fields of an operation, in the declared order, then the others. Null leaves one out. */
export const fieldsOf = <const I extends Inputs>(
  inputs: I,
  words: { readonly [Name in keyof I]?: FieldWords | null },
): readonly Field[] => {
  const names = [...new Set([...Object.keys(words), ...Object.keys(inputs)])];
  return names.flatMap((name) => {
    const [input, said] = [inputs[name], words[name]];
    return input === undefined || said === null ? [] : [{ label: labelOf(name), ...said, name, input }];
  });
};

/** An operation as a form sends it: without its types, which `sends` has checked. */
export type Send<Row> = Readonly<{
  operation: CallId;
  request(body: Body, row: Row): unknown;
  /** Sent as If-Match. */
  version?: ((row: Row) => number) | undefined;
  /** The secret in the response, which is shown once. */
  secret?: ((response: unknown) => Secret | null) | undefined;
}>;

type BodyOf<K extends CallId> = RequestOf<K> extends { body: infer B } ? B : Record<string, never>;

export const sends = <K extends CallId, Row>(
  operation: K,
  request: (body: BodyOf<K>, row: Row) => RequestOf<K>,
  more: Readonly<{ version?: (row: Row) => number; secret?: (response: ResponseOf<K>) => Secret | null }> = {},
): Send<Row> => ({ operation, request, ...more }) as unknown as Send<Row>;

export type Form<Row> = Readonly<{
  /** Of the button that opens it. */
  label: string;
  title: string | ((row: Row) => string);
  /** Of the button that sends it, if it differs. */
  submit?: string;
  permission: Permission;
  fields: readonly Field[];
  send: Send<Row>;
  /** The words of the equivalent command. */
  words(row: Row, body: Body): readonly string[];
  /** The consequence, above the fields. */
  note?: (row: Row) => ReactNode;
  isDestructive?: boolean;
  /** Changes a resource: it starts with its values, and only what differs is sent. */
  isEdit?: boolean;
  /** What another form of a resource starts with. */
  starts?: (row: Row) => Body;
  /** What is wrong with the fields together. */
  check?: (body: Body, row: Row) => string | null;
  /** Why it is impossible for this resource. */
  refusal?: (row: Row) => string | null;
  /** The text that must be typed. */
  typed?: (row: Row) => string;
}>;

const EMPTY: Readonly<Record<Input['kind'], FieldValue>> = {
  text: '',
  integer: '',
  boolean: false,
  list: '',
  time: '',
};

/** `row` is what is edited, brought back or started with; null for a new resource. */
export const initialValues = (fields: readonly Field[], row: unknown): Values =>
  Object.fromEntries(
    fields.map(({ name, input, initial }) => {
      const stored = row === null ? undefined : (row as Body)[name];
      return [name, stored === undefined ? (initial ?? EMPTY[input.kind]) : shownOf(input, stored)];
    }),
  );

const isShown = (field: Field, values: Values): boolean => field.isShown?.(values) ?? true;
export const shownFields = (fields: readonly Field[], values: Values): readonly Field[] =>
  fields.filter((field) => isShown(field, values));

export const fieldProblem = ({ input, label, rule, name, isNeeded }: Field, values: Values): string | null => {
  const value = values[name] ?? '';
  return isNeeded && String(value).trim() === '' ? missingText(input, label) : problemOf(input, label, value, rule);
};

const isSame = (field: Field, a: FieldValue = '', b: FieldValue = ''): boolean =>
  JSON.stringify(sentOf(field.input, a)) === JSON.stringify(sentOf(field.input, b));

/** The body of the request; of an edit only what differs from the resource. */
export const bodyOf = (fields: readonly Field[], values: Values, before: Values | null): Body =>
  Object.fromEntries(
    shownFields(fields, values)
      .filter((field) => before === null || !isSame(field, values[field.name], before[field.name]))
      .flatMap(({ name, input }) => {
        const sent = sentOf(input, values[name] ?? '');
        return sent === undefined || (before === null && sent === null && input.kind === 'text') ? [] : [[name, sent]];
      }),
  );

/** Why the form cannot be sent: the first problem, or nothing to save. */
export const missingOf = <Row>(form: Form<Row>, row: Row, values: Values, body: Body): string | null => {
  const problems = shownFields(form.fields, values).map((field) => fieldProblem(field, values));
  const problem = problems.find((one) => one !== null) ?? form.check?.(body, row) ?? null;
  if (problem !== null) return problem;
  return form.isEdit && Object.keys(body).length === 0 ? 'No changes to save.' : null;
};

/** A value of the request as flags of the command. */
const flagsOf = ({ name, flag }: Field, sent: unknown): readonly Flag[] => {
  if (flag === null || sent === undefined) return [];
  if (typeof flag === 'function') return flag(sent as never);
  const named = flag ?? name.replaceAll('_', '-');
  if (Array.isArray(sent)) return sent.map((one): Flag => [named, String(one)]);
  if (typeof sent === 'boolean') return sent ? [[named, true]] : [];
  return [[named, sent === null ? '' : (sent as string | number)]];
};

/** Two fields may need the same flag, which is named once. */
export const commandFlags = (fields: readonly Field[], body: Body): readonly Flag[] => {
  const flags = fields.flatMap((field) => flagsOf(field, body[field.name]));
  return [...new Map(flags.map((flag) => [JSON.stringify(flag), flag])).values()];
};
