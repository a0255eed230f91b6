/**
 * Whether a schema change is breaking. Requests may only be accepted more widely; responses may only become narrower. A
 * new value in a response's enum is not a break: clients must expect unknown values, or no state and no error code
 * could ever be added.
 */
export type Node = Readonly<Record<string, unknown>>;
export type Direction = 'request' | 'response';
export type Side = Readonly<{ document: Node }>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);
export const nodeAt = (value: unknown): Node => (isNode(value) ? value : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Follows `$ref` inside the document. */
export const resolve = (side: Side, value: unknown): Node => {
  let node = nodeAt(value);
  while (typeof node['$ref'] === 'string') {
    const path = node['$ref'].slice(2).split('/');
    node = nodeAt(path.reduce<unknown>((at, key) => nodeAt(at)[key], side.document));
  }
  return node;
};

const typesOf = (schema: Node): readonly unknown[] => [schema['type'] ?? []].flat();
/** `const` is an enum of one; undefined admits everything. */
const valuesOf = (schema: Node): readonly unknown[] | undefined =>
  'const' in schema ? [schema['const']] : Array.isArray(schema['enum']) ? schema['enum'] : undefined;

const LIMITS = [
  ['minimum', 1],
  ['minLength', 1],
  ['minItems', 1],
  ['minProperties', 1],
  ['maximum', -1],
  ['maxLength', -1],
  ['maxItems', -1],
] as const;

const narrowed = (before: Node, after: Node): string[] => {
  const findings: string[] = [];
  const [had, has] = [valuesOf(before), valuesOf(after)];
  if (has !== undefined && had === undefined) findings.push('accepts only listed values now');
  const gone = had !== undefined && has !== undefined ? had.filter((value) => !has.includes(value)) : [];
  if (gone.length > 0) findings.push(`no longer accepts ${gone.map((value) => JSON.stringify(value)).join(', ')}`);
  for (const key of ['pattern', 'format'])
    if (after[key] !== undefined && after[key] !== before[key]) findings.push(`${key} became ${String(after[key])}`);
  for (const [key, sign] of LIMITS) {
    const [old, now] = [before[key], after[key]];
    if (typeof now === 'number' && (typeof old !== 'number' || now * sign > old * sign))
      findings.push(`${key} became ${now}`);
  }
  if (after['additionalProperties'] === false && before['additionalProperties'] !== false)
    findings.push('refuses unknown fields now');
  return findings;
};

export const schemaBreaks = (
  old: Side & Readonly<{ schema: unknown }>,
  now: Side & Readonly<{ schema: unknown }>,
  direction: Direction,
  at = '',
  seen: ReadonlySet<unknown> = new Set(),
): string[] => {
  const before = resolve(old, old.schema);
  const after = resolve(now, now.schema);
  if (seen.has(before)) return [];
  const within = new Set([...seen, before]);
  const inner = (oldSchema: unknown, newSchema: unknown, name: string) =>
    schemaBreaks({ ...old, schema: oldSchema }, { ...now, schema: newSchema }, direction, `${at}${name}`, within);
  const say = (sentence: string) => `${at || 'it'}: ${sentence}`;
  const findings: string[] = [];

  const [types, newTypes] = [typesOf(before), typesOf(after)];
  const [must, may] = direction === 'request' ? [types, newTypes] : [newTypes, types];
  if (may.length > 0 && (must.length === 0 || must.some((type) => !may.includes(type))))
    findings.push(say(`type changed from ${types.join('|') || 'any'} to ${newTypes.join('|') || 'any'}`));
  if (direction === 'request') findings.push(...narrowed(before, after).map(say));

  const required = list(before['required']);
  const newlyRequired = list(after['required']).filter((name) => !required.includes(name));
  const noLonger = required.filter((name) => !list(after['required']).includes(name));
  const properties = nodeAt(before['properties']);
  const newProperties = nodeAt(after['properties']);
  if (direction === 'request')
    for (const name of newlyRequired) findings.push(say(`field ${String(name)} is required now`));
  else
    for (const name of noLonger)
      if (String(name) in newProperties) findings.push(say(`field ${String(name)} may be missing now`));
  for (const [name, property] of Object.entries(properties)) {
    if (name in newProperties) findings.push(...inner(property, newProperties[name], `/${name}`));
    else if (direction === 'response' || after['additionalProperties'] === false)
      findings.push(say(`field ${name} was removed`));
  }
  if (before['items'] !== undefined) findings.push(...inner(before['items'], after['items'], '/[]'));

  const [branches, newBranches] = [list(before['anyOf']), list(after['anyOf'])];
  if (branches.length === newBranches.length)
    for (const [index, branch] of branches.entries()) findings.push(...inner(branch, newBranches[index], ''));
  else if (direction === 'request' ? newBranches.length < branches.length : newBranches.length > branches.length)
    findings.push(say('its alternatives changed'));
  return findings;
};
