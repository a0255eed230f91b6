/**
 * Runs the contract's schemas without compiling them, because the page's policy forbids creating code from text. Bodies
 * are used as they are; queries are text, so their numbers and booleans are parsed first.
 */
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { Refusal } from './errors.ts';

const SHOWN_MAX = 20;
type Part = 'params' | 'query' | 'body';
type FieldError = { pointer: string; code: string; message: string };

/** One finding of the validator, whose parameters depend on its keyword. */
type Found = Readonly<{
  keyword: string;
  instancePath: string;
  schemaPath: string;
  message: string;
  params: Readonly<Record<string, unknown>>;
}>;

const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

const fieldErrors = (part: Part, found: Found): FieldError[] => {
  const pointer = `/${part}${found.instancePath}`;
  switch (found.keyword) {
    case 'required':
      return listOf(found.params['requiredProperties']).map((name) => ({
        pointer: `${pointer}/${name}`,
        code: 'required',
        message: 'is required',
      }));
    case 'additionalProperties':
      return listOf(found.params['additionalProperties']).map((name) => ({
        pointer: `${pointer}/${name}`,
        code: 'unknown_field',
        message: 'is not a field of this request',
      }));
    case 'boolean':
      // The same finding again, reported by the `false` schema of the forbidden field.
      return [];
    case 'enum':
      return [{ pointer, code: 'enum', message: `must be one of ${listOf(found.params['allowedValues']).join(', ')}` }];
    case 'pattern':
      return [
        {
          pointer,
          code: 'pattern',
          message: `does not have the required form (${String(found.params['pattern'])})`.slice(0, 200),
        },
      ];
    default:
      // The server's validator formats it this way.
      return [{ pointer, code: found.keyword, message: found.message.replace(/^must not /, 'must NOT ') }];
  }
};

const invalid = (part: Part, errors: readonly FieldError[]): Refusal => {
  const first = errors[0];
  const where = first ? `${first.pointer.slice(1).replaceAll('/', '.')} ${first.message}` : `the ${part} is not valid`;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new Refusal('invalid_request', `Invalid request: ${where}${more}.`, { errors: errors.slice(0, SHOWN_MAX) });
};

export const validate = (part: Part, schema: TSchema | undefined, value: unknown): unknown => {
  const given = value === undefined ? {} : value;
  if (schema === undefined) {
    const isNothing = typeof given === 'object' && given !== null && Object.keys(given).length === 0;
    if (!isNothing)
      throw invalid(part, [{ pointer: `/${part}`, code: 'unknown_field', message: `this operation takes no ${part}` }]);
    return {};
  }
  if (Value.Check(schema, given)) return given;
  throw invalid(
    part,
    (Value.Errors(schema, given) as unknown as Found[]).flatMap((found) => fieldErrors(part, found)),
  );
};

/** The typed values of a query; text that is not a number stays text and is refused as such. */
export const queryOf = (schema: TSchema | undefined, search: URLSearchParams): Record<string, unknown> => {
  const properties = (schema as { properties?: Record<string, { type?: string }> } | undefined)?.properties ?? {};
  return Object.fromEntries(
    [...search].map(([name, text]) => {
      const type = properties[name]?.type;
      if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return [name, Number(text)];
      if (type === 'boolean' && (text === 'true' || text === 'false')) return [name, text === 'true'];
      return [name, text];
    }),
  );
};

export const errorsOf = (schema: TSchema, value: unknown): string[] =>
  (Value.Errors(schema, value) as unknown as Found[]).map((found) => `${found.instancePath} ${found.message}`);
