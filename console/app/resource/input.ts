/**
 * One field of a form, by the contract: which values it takes, what is wrong with a value, and what is sent. The server
 * still decides; a form only does not send what the contract refuses.
 */
import { DISPLAY_TEXT_PATTERN, NAME_PATTERN } from '@gpuaas/sdk';
import { nameProblem } from '../rules/name.ts';

export type Input = Readonly<{
  kind: 'text' | 'integer' | 'boolean' | 'list' | 'time';
  isRequired?: true;
  isNullable?: true;
  description?: string;
  options?: readonly string[];
  pattern?: string;
  lengthMax?: number;
  min?: number;
  max?: number;
  itemsMin?: number;
  itemsMax?: number;
  item?: Input;
}>;
export type Inputs = Readonly<Record<string, Input>>;

/** As it is typed. A list is one text, or its chosen items. */
export type FieldValue = string | boolean | readonly string[];

/** A number that may be null: no limit, for example. An empty field leaves the choice to the server. */
export const NONE = 'none';

/** The items of a list, which are separated by commas, spaces or lines. */
export const itemsOf = (value: FieldValue): readonly string[] => {
  if (typeof value === 'boolean') return [];
  return typeof value === 'string' ? value.split(/[\s,]+/).filter((item) => item !== '') : value;
};

/** A sentence goes on with the label, whose first word may be an abbreviation. */
const inSentence = (label: string): string => (/^[A-Z]{2}/.test(label) ? label : label.toLowerCase());

const rangeOf = ({ min = 0, max = Number.MAX_SAFE_INTEGER }: Input): string =>
  max === Number.MAX_SAFE_INTEGER ? `at least ${min}` : `${min.toLocaleString('en')} to ${max.toLocaleString('en')}`;

const textProblem = (input: Input, label: string, text: string, rule: string | undefined): string | null => {
  const { pattern, lengthMax } = input;
  if (lengthMax !== undefined && text.length > lengthMax)
    return `Use at most ${lengthMax} characters for the ${inSentence(label)}.`;
  if (pattern === undefined || new RegExp(pattern, 'u').test(text)) return null;
  if (pattern === NAME_PATTERN) return nameProblem(text);
  if (pattern === DISPLAY_TEXT_PATTERN) return `Remove <, > and invisible characters from the ${inSentence(label)}.`;
  return rule ?? `The ${inSentence(label)} has characters that are not allowed.`;
};

const numberProblem = (input: Input, label: string, text: string): string | null => {
  const value = Number(text);
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = input;
  return Number.isSafeInteger(value) && value >= min && value <= max
    ? null
    : `${label}: enter a whole number, ${rangeOf(input)}.`;
};

const listProblem = (input: Input, label: string, items: readonly string[], rule: string | undefined) => {
  const { item, itemsMax = Number.POSITIVE_INFINITY } = input;
  if (items.length > itemsMax) return `Use at most ${itemsMax} values for the ${inSentence(label)}.`;
  if (new Set(items).size < items.length) return `The ${inSentence(label)} name a value twice.`;
  const problem = items.map((one) => (item === undefined ? null : problemOf(item, label, one, rule)));
  return problem.find((one) => one !== null) ?? null;
};

export const missingText = ({ options }: Input, label: string): string =>
  `${options === undefined ? 'Enter' : 'Select'} the ${inSentence(label)}.`;

/** Why the value cannot be sent, as a sentence; null if it can. `rule` states what a refused text must look like. */
export const problemOf = (input: Input, label: string, value: FieldValue, rule?: string): string | null => {
  if (typeof value === 'boolean') return null;
  const items = input.kind === 'list' ? itemsOf(value) : null;
  const text = typeof value === 'string' ? value.trim() : '';
  if (items === null ? text === '' : items.length === 0) {
    const isNeeded = input.isRequired && !(input.isNullable && input.kind === 'text') && (input.itemsMin ?? 1) > 0;
    return isNeeded || (input.itemsMin ?? 0) > 0 ? missingText(input, label) : null;
  }
  if (items !== null) return listProblem(input, label, items, rule);
  if (input.isNullable && text === NONE) return null;
  if (input.kind === 'integer') return numberProblem(input, label, text);
  if (input.kind === 'time') return Number.isNaN(Date.parse(`${text}Z`)) ? `${label}: enter a date and a time.` : null;
  return textProblem(input, label, text, rule);
};

/** The value of the request; undefined leaves it out. */
export const sentOf = (input: Input, value: FieldValue): unknown => {
  if (input.kind === 'boolean') return value;
  if (input.kind === 'list') {
    const items = itemsOf(value);
    return input.item?.kind === 'integer' ? items.map(Number) : items;
  }
  const text = String(value).trim();
  if (input.kind === 'text') return text === '' ? (input.isNullable ? null : undefined) : text;
  if (text === '') return undefined;
  if (text === NONE && input.isNullable) return null;
  return input.kind === 'time' ? new Date(`${text}Z`).toISOString() : Number(text);
};

/** The value of a resource, as the field shows it. */
export const shownOf = (input: Input, stored: unknown): FieldValue => {
  if (input.kind === 'boolean') return stored === true;
  if (Array.isArray(stored)) return input.item?.options === undefined ? stored.join(', ') : stored.map(String);
  if (stored === null || stored === undefined) return input.kind === 'integer' && stored === null ? NONE : '';
  return input.kind === 'time' ? String(stored).slice(0, 16) : String(stored);
};
