/**
 * One valid value of a schema, the same on every run: for the API reference and for generated tests. A string with a
 * pattern cannot be generated, so such a schema carries `examples`; a test checks that every example of every operation
 * satisfies its schema.
 */
import type { TSchema } from 'typebox';
import type { Json, JsonObject } from './schemas.ts';

type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;
const nodes = (value: unknown): readonly Node[] => (Array.isArray(value) ? value.filter(isNode) : []);
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

export type ExampleOptions = Readonly<{
  /** Whether optional properties are filled in too; a schema with minProperties gets at least as many. */
  optional?: boolean;
}>;

const objectOf = (schema: Node, options: ExampleOptions): JsonObject => {
  const properties = isNode(schema['properties']) ? Object.entries(schema['properties']) : [];
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const result: JsonObject = {};
  for (const [name, property] of properties)
    if (required.has(name) || options.optional !== false) result[name] = sampleOf(property as Node, options);
  for (const [name, property] of properties) {
    if (Object.keys(result).length >= count(schema['minProperties'])) break;
    result[name] ??= sampleOf(property as Node, options);
  }
  return result;
};

const stringOf = (schema: Node): string => {
  if (schema['format'] === 'email') return 'ada@example.org';
  if (schema['format'] === 'date-time') return '2026-11-15T10:03:21.000Z';
  return 'text'.padEnd(count(schema['minLength']), '-');
};

const sampleOf = (schema: Node, options: ExampleOptions): Json => {
  if ('const' in schema) return schema['const'] as Json;
  if ('default' in schema) return schema['default'] as Json;
  for (const key of ['examples', 'enum']) {
    const [first] = Array.isArray(schema[key]) ? schema[key] : [];
    if (first !== undefined) return first as Json;
  }
  const [branch] = nodes(schema['anyOf']);
  if (branch) return sampleOf(branch, options);
  switch (schema['type']) {
    case 'object':
      return objectOf(schema, options);
    case 'array':
      return isNode(schema['items']) ? [sampleOf(schema['items'], options)] : [];
    case 'string':
      return stringOf(schema);
    case 'integer':
    case 'number':
      return Math.max(1, count(schema['minimum']));
    case 'boolean':
      return true;
    default:
      return null;
  }
};

export const exampleOf = (schema: TSchema, options: ExampleOptions = {}): Json => sampleOf(schema as Node, options);
