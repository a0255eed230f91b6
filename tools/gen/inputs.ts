/**
 * Writes console/app/resource/inputs.gen.ts: the fields that operators' changes accept, with the limits, the choices and
 * the descriptions of the contract. The console's forms are made from it, so that no limit is written twice. One export
 * per operation, so that a page carries only what it uses.
 */
import { api, type Operation } from '@gpuaas/contract';
import type { Generated } from './file.ts';
import type { Schema } from './typescript.ts';

type Part = Schema &
  Readonly<{
    pattern?: string;
    format?: string;
    minLength?: number;
    maxLength?: number;
    minimum?: number;
    maximum?: number;
    minItems?: number;
    maxItems?: number;
  }>;

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'integer',
  boolean: 'boolean',
  array: 'list',
};

const isNull = ({ type }: Schema): boolean => type === 'null';

/** Undefined for a shape that a form of single fields cannot hold. */
const inputOf = (schema: Part, isRequired: boolean): Readonly<Record<string, unknown>> | undefined => {
  const [part, ...others] = (schema.anyOf ?? [schema]).filter((one) => !isNull(one)) as Part[];
  const kind = part?.format === 'date-time' ? 'time' : KINDS[part?.type ?? ''];
  if (part === undefined || kind === undefined || others.length > 0) return undefined;
  const item = part.items === undefined ? undefined : inputOf(part.items as Part, true);
  if (kind === 'list' && item === undefined) return undefined;
  const description = schema.description ?? part.description;
  return {
    kind,
    ...(isRequired ? { isRequired } : {}),
    ...(schema.anyOf?.some(isNull) ? { isNullable: true } : {}),
    ...(description === undefined ? {} : { description }),
    ...(part.enum === undefined ? {} : { options: part.enum }),
    ...(part.pattern === undefined ? {} : { pattern: part.pattern }),
    ...(part.maxLength === undefined ? {} : { lengthMax: part.maxLength }),
    ...(part.minimum === undefined ? {} : { min: part.minimum }),
    ...(part.maximum === undefined ? {} : { max: part.maximum }),
    ...(part.minItems === undefined ? {} : { itemsMin: part.minItems }),
    ...(part.maxItems === undefined ? {} : { itemsMax: part.maxItems }),
    ...(item === undefined ? {} : { item }),
  };
};

const fieldsOf = (body: Schema): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(body.properties ?? {}).flatMap(([name, schema]) => {
      const input = inputOf(schema as Part, body.required?.includes(name) ?? false);
      return input === undefined ? [] : [[name, input]];
    }),
  );

export const consoleInputs = (): Generated => ({
  path: 'console/app/resource/inputs.gen.ts',
  text: `// Written by \`make gen\` from contract/. Do not edit.
import type { Inputs } from './input.ts';

${Object.entries<Operation>(api)
  .filter(([, { access, body }]) => access === 'platform' && body !== undefined)
  .map(
    ([id, { body }]) =>
      `export const ${id} = ${JSON.stringify(fieldsOf(body as Schema), null, 2)} as const satisfies Inputs;`,
  )
  .join('\n\n')}
`,
});
