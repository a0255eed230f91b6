/** Changes in a new OpenAPI document that break a client of an older one. Empty means none. */
import { type Direction, type Node, nodeAt, resolve, type Side, schemaBreaks } from './schema-diff.ts';

const METHODS = ['get', 'put', 'post', 'patch', 'delete'];

type Found = Readonly<{ key: string; path: string; operation: Node }>;

const operationsOf = (side: Side): ReadonlyMap<string, Found> => {
  const found = new Map<string, Found>();
  for (const [path, item] of Object.entries(nodeAt(side.document['paths'])))
    for (const method of METHODS) {
      const operation = nodeAt(item)[method];
      // Renaming a path parameter changes nothing on the wire.
      const key = `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '{}')}`;
      if (operation !== undefined) found.set(key, { key, path, operation: nodeAt(operation) });
    }
  return found;
};

const parametersOf = (side: Side, operation: Node): ReadonlyMap<string, Node> =>
  new Map(
    (Array.isArray(operation['parameters']) ? operation['parameters'] : [])
      .map((parameter) => resolve(side, parameter))
      .filter((parameter) => parameter['in'] !== 'path')
      .map((parameter) => [`${parameter['in']} parameter ${parameter['name']}`, parameter]),
  );

const parameterBreaks = (old: Side, now: Side, before: Node, after: Node): string[] => {
  const findings: string[] = [];
  const [had, has] = [parametersOf(old, before), parametersOf(now, after)];
  for (const [name, parameter] of had) {
    const next = has.get(name);
    if (next === undefined) findings.push(`${name} was removed`);
    else {
      if (next['required'] === true && parameter['required'] !== true) findings.push(`${name} is required now`);
      const schemas = [
        { ...old, schema: parameter['schema'] },
        { ...now, schema: next['schema'] },
      ] as const;
      findings.push(...schemaBreaks(...schemas, 'request').map((sentence) => `${name}: ${sentence}`));
    }
  }
  for (const [name, parameter] of has)
    if (!had.has(name) && parameter['required'] === true) findings.push(`${name} is new and required`);
  return findings;
};

const contentBreaks = (sides: readonly [Side, Side], before: Node, after: Node, direction: Direction): string[] => {
  const [old, now] = sides;
  const [had, has] = [nodeAt(before['content']), nodeAt(after['content'])];
  return Object.entries(had).flatMap(([type, media]) => {
    if (!(type in has)) return [`${direction} no longer comes as ${type}`];
    // The items of a stream are typed in an extension.
    return ['schema', 'x-item-schema'].flatMap((key) =>
      schemaBreaks({ ...old, schema: nodeAt(media)[key] }, { ...now, schema: nodeAt(has[type])[key] }, direction).map(
        (sentence) => `${direction} ${sentence}`,
      ),
    );
  });
};

const operationBreaks = (sides: readonly [Side, Side], before: Node, after: Node): string[] => {
  const [old, now] = sides;
  const findings = parameterBreaks(old, now, before, after);
  if (before['operationId'] !== after['operationId'])
    findings.push(`operationId became ${String(after['operationId'])}, which renames the SDK method`);
  const isOpen = (operation: Node) => Array.isArray(operation['security']) && operation['security'].length === 0;
  if (isOpen(before) && !isOpen(after)) findings.push('needs a credential now');

  const [body, newBody] = [resolve(old, before['requestBody']), resolve(now, after['requestBody'])];
  if (newBody['required'] === true && body['required'] !== true) findings.push('a request body is required now');
  findings.push(...contentBreaks(sides, body, newBody, 'request'));

  // Error responses may be added and removed; a success response may not change.
  for (const [status, response] of Object.entries(nodeAt(before['responses']))) {
    if (!status.startsWith('2')) continue;
    const [had, has] = [resolve(old, response), resolve(now, nodeAt(after['responses'])[status])];
    if (!(status in nodeAt(after['responses']))) findings.push(`no longer answers ${status}`);
    else {
      for (const header of Object.keys(nodeAt(had['headers'])))
        if (!(header in nodeAt(has['headers']))) findings.push(`response header ${header} was removed`);
      findings.push(...contentBreaks(sides, had, has, 'response'));
    }
  }
  return findings;
};

export const breakingChanges = (released: Node, current: Node): string[] => {
  const sides = [{ document: released }, { document: current }] as const;
  const next = operationsOf(sides[1]);
  return [...operationsOf(sides[0]).values()].flatMap(({ key, path, operation }) => {
    const found = next.get(key);
    const name = `${String(operation['operationId'])} (${key.split(' ')[0]} ${path})`;
    if (found === undefined) return [`${name} was removed`];
    return operationBreaks(sides, operation, found.operation).map((sentence) => `${name}: ${sentence}`);
  });
};
