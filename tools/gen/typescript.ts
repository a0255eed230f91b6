/**
 * Prints JSON Schema as TypeScript. It knows the part of JSON Schema that the contract uses and refuses the rest, so
 * that a new keyword becomes a failing build and not a wrong type.
 */
export type Schema = Readonly<{
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  patternProperties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean;
  description?: string;
  default?: unknown;
}>;

/** Schemas with a name of their own, by their JSON text: a schema is identified by its content, not by its object. */
export type Names = ReadonlyMap<string, string>;

export const schemaKey = (schema: object): string => JSON.stringify(schema);

/** A comment end inside a description would end the comment early. */
export const jsDoc = (text: string | undefined, indent: string): string =>
  text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/').replaceAll('\n', ' ')} */\n`;

const propertyName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : `${value}`;

const describe = (schema: Schema): string | undefined => {
  // A nullable value keeps its description on the part that is not null.
  const own = schema.description ?? schema.anyOf?.find((part) => part.description !== undefined)?.description;
  if (schema.default === undefined) return own;
  return [own, `Default: ${JSON.stringify(schema.default)}.`].filter(Boolean).join(' ');
};

/** The members of an object type. Optional members also take undefined, which the client leaves out of the request. */
export const printObject = (schema: Schema, names: Names, indent = ''): string => {
  const entries = Object.entries(schema.properties ?? {});
  const open = schema.additionalProperties !== false;
  const [byPattern] = Object.values(schema.patternProperties ?? {});
  // A type cannot express which names the pattern allows, only their values.
  if (byPattern !== undefined && !open && entries.length === 0)
    return `Record<string, ${printType(byPattern, names, indent)}>`;
  if (entries.length === 0) return open ? 'Record<string, unknown>' : 'Record<string, never>';
  const required = new Set(schema.required ?? []);
  const inner = `${indent}  `;
  const members = entries.map(([name, member]) => {
    const type = printType(member, names, inner);
    const slot = required.has(name) ? `${propertyName(name)}: ${type}` : `${propertyName(name)}?: ${type} | undefined`;
    return `${jsDoc(describe(member), inner)}${inner}${slot};`;
  });
  if (open) members.push(`${inner}[name: string]: unknown;`);
  return `{\n${members.join('\n')}\n${indent}}`;
};

export const printType = (schema: Schema, names: Names, indent = ''): string => {
  const name = names.get(schemaKey(schema));
  if (name !== undefined) return name;
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  if (schema.anyOf !== undefined) return schema.anyOf.map((part) => printType(part, names, indent)).join(' | ');
  if (Object.keys(schema).length === 0) return 'unknown';
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array': {
      const item = printType(schema.items ?? {}, names, indent);
      return / \| /.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`;
    }
    case 'object':
      return printObject(schema, names, indent);
    default:
      throw new Error(`No TypeScript for the schema ${JSON.stringify(schema)}`);
  }
};
