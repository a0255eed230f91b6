/**
 * Writes sdk/src/api.gen.ts from the contract: the operation table the client runs on and the types of every request
 * and response; sdk/src/values.gen.ts: every value list, limit and pattern that the contract names; sdk/src/stream.gen.ts:
 * the messages and limits of a session's bytes; sdk/src/roles.gen.ts: the permissions of each role, so that a client
 * can explain a refusal before the request; and sdk/src/ssh-public-key.gen.ts: a copy of the parser of SSH keys. The published sdk depends on nothing, and no shape is written twice by hand.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { api, ERRORS, type Operation, ROLES } from '@gpuaas/contract';
import {
  ClientMessage,
  GatewayMessage,
  HostMessage,
  SESSION_CLOSE_CODES,
  SESSION_END_REASONS,
  SESSION_KINDS,
  STREAM_ACK_BYTES,
  STREAM_MESSAGE_BYTES_MAX,
  STREAM_PROTOCOL,
  STREAM_WINDOW_BYTES,
  TICKET_PROTOCOL_PREFIX,
} from '@gpuaas/contract/stream';
import { jsDoc, type Names, printObject, printType, type Schema, schemaKey } from './typescript.ts';

const ROOT = join(import.meta.dirname, '../..');
const CONTRACT = join(ROOT, 'contract/src');
/** Value lists of the agent's contract that public resources use too. */
const AGENT_MODULES = ['node/candidate.ts', 'node/health.ts', 'node/wipe.ts'];
const TARGET = 'sdk/src/api.gen.ts';
const STREAM_TARGET = 'sdk/src/stream.gen.ts';
const VALUES_TARGET = 'sdk/src/values.gen.ts';
const ROLES_TARGET = 'sdk/src/roles.gen.ts';
const SSH_KEY_TARGET = 'sdk/src/ssh-public-key.gen.ts';

const isObjectSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'object' && 'properties' in value;

type Exports = readonly (readonly [string, unknown])[];

const exportsOf = async (paths: readonly string[]): Promise<Exports> => {
  const found = new Map<string, unknown>();
  for (const path of paths) {
    const module: Record<string, unknown> = await import(join(CONTRACT, path));
    for (const [name, value] of Object.entries(module)) found.set(name, value);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
};

const publicModules = async (): Promise<readonly string[]> => {
  const files = await readdir(join(CONTRACT, 'public'));
  const modules = files.filter((file) => file.endsWith('.ts') && !file.includes('.test.')).sort();
  return ['common.ts', 'roles.ts', ...modules.map((file) => `public/${file}`)];
};

/** Every exported object schema of the contract is a named type; its export is its name. */
const namedSchemas = (exported: Exports): Map<string, Schema> => {
  const named = new Map<string, Schema>();
  for (const [name, value] of exported) if (isObjectSchema(value)) named.set(name, value);
  return named;
};

type Scalar = string | number;
const isScalar = (value: unknown): value is Scalar => typeof value === 'string' || typeof value === 'number';
const CONSTANT = /^[A-Z][A-Z0-9_]*$/;

/** Such as the labels of a list of values. */
const isTextRecord = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string');

/** Every exported constant of the contract that is a text, a number, a list of them or a record of texts keeps its name. */
const valuesText = (exported: Exports): string => {
  const constants = exported.filter(([name]) => CONSTANT.test(name));
  const lines = constants.flatMap(([name, value]) => {
    if (isScalar(value)) return [`export const ${name} = ${JSON.stringify(value)};`];
    if (Array.isArray(value) && value.every(isScalar))
      return [`export const ${name} = [${value.map((one) => JSON.stringify(one)).join(', ')}] as const;`];
    if (isTextRecord(value)) return [`export const ${name} = ${JSON.stringify(value)} as const;`];
    return [];
  });
  return `// Written by \`make gen\` from contract/. Do not edit.

${lines.join('\n')}
`;
};

const isPage = (operation: Operation): boolean =>
  operation.query !== undefined && 'cursor' in operation.query.properties;

const tableRow = (id: string, operation: Operation): string => {
  const flags = [
    `method: '${operation.method}'`,
    `path: '${operation.path}'`,
    operation.idempotency === 'required' && "idempotency: 'required'",
    operation.ifMatch && 'ifMatch: true',
    operation.secret && 'secret: true',
    operation.access === 'public' && 'public: true',
    operation.body && 'body: true',
    operation.bodyType && `bodyType: '${operation.bodyType}'`,
    operation.stream && `stream: '${operation.stream}'`,
    isPage(operation) && 'page: true',
  ].filter(Boolean);
  return `  ${id}: { ${flags.join(', ')} },`;
};

const operationType = (id: string, operation: Operation, names: Names): string => {
  const part = (name: 'params' | 'query' | 'body'): string => {
    const schema = operation[name] as Schema | undefined;
    if (schema === undefined) return '';
    const optional = (schema.required ?? []).length === 0;
    const type = printType(schema, names, '      ');
    return `      ${name}${optional ? '?' : ''}: ${type}${optional ? ' | undefined' : ''};\n`;
  };
  const parts = part('params') + part('query') + part('body');
  const request = parts === '' ? 'Record<string, never>' : `{\n${parts}    }`;
  const response = operation.response === null ? 'undefined' : printType(operation.response as Schema, names, '    ');
  const summary =
    operation.description === undefined ? operation.summary : `${operation.summary}. ${operation.description}`;
  return `${jsDoc(summary, '  ')}  ${id}: {\n    request: ${request};\n    response: ${response};\n  };`;
};

/** What both ends of a session must agree on, beside the tickets that the API gives. */
const streamText = (): string => {
  const none: Names = new Map();
  const names = {
    STREAM_PROTOCOL,
    TICKET_PROTOCOL_PREFIX,
    STREAM_WINDOW_BYTES,
    STREAM_ACK_BYTES,
    STREAM_MESSAGE_BYTES_MAX,
  };
  const lists = { SESSION_KINDS, SESSION_END_REASONS };
  const words = { ClientMessage, HostMessage, GatewayMessage };
  const print = (value: unknown) => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value));
  return `// Written by \`make gen\` from contract/. Do not edit.

${Object.entries(names)
  .map(([name, value]) => `export const ${name} = ${print(value)};`)
  .join('\n')}

${Object.entries(lists)
  .map(([name, values]) => `export const ${name} = [${values.map(print).join(', ')}] as const;`)
  .join('\n')}
export type SessionKind = (typeof SESSION_KINDS)[number];
export type SessionEndReason = (typeof SESSION_END_REASONS)[number];
/** The code that a WebSocket is closed with, for an end that is not in the list. */
export const SESSION_CLOSE_CODES: Readonly<Record<SessionEndReason, number>> = ${JSON.stringify(SESSION_CLOSE_CODES)};

${Object.entries(words)
  .map(([name, schema]) => `export type ${name} = ${printType(schema as Schema, none)};`)
  .join('\n\n')}
`;
};

const rolesText = (): string => `// Written by \`make gen\` from contract/. Do not edit.

/** Which role holds which permission. The server decides by the same table. */
export const ROLES = ${JSON.stringify(ROLES, null, 2)} as const;

export type RoleName = keyof typeof ROLES;
export type Permission = (typeof ROLES)[RoleName][number];
`;

const sshKeyText = async (): Promise<string> =>
  `// Written by \`make gen\` from contract/. Do not edit.\n\n${await readFile(join(CONTRACT, 'ssh-public-key.ts'), 'utf8')}`;

export const sdkTypes = async (): Promise<{ path: string; text: string }[]> => {
  const modules = await publicModules();
  const schemas = namedSchemas(await exportsOf(modules));
  const names: Names = new Map([...schemas].map(([name, schema]) => [schemaKey(schema), name]));
  const operations = Object.entries<Operation>(api);
  const withoutSelf = (name: string): Names => new Map([...names].filter(([, other]) => other !== name));
  const types = [...schemas].map(
    ([name, schema]) =>
      `${jsDoc(schema.description, '')}export type ${name} = ${printObject(schema, withoutSelf(name))};`,
  );
  const text = `// Written by \`make gen\` from contract/. Do not edit.

${types.join('\n\n')}

/** Every code a refusal can carry, with what to do about it. */
export const ERRORS = ${JSON.stringify(ERRORS, null, 2)} as const;

export type ErrorCode = keyof typeof ERRORS;

export type OperationInfo = Readonly<{
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** The Idempotency-Key header must be there. */
  idempotency?: 'required';
  /** The version that the change is based on must be named in If-Match. */
  ifMatch?: true;
  /** The response holds a secret that is shown once. */
  secret?: true;
  /** Needs no credential. */
  public?: true;
  body?: true;
  bodyType?: 'application/x-www-form-urlencoded';
  stream?: 'application/jsonl' | 'text/event-stream';
  /** The response is a page with a cursor. */
  page?: true;
}>;

export const operations = {
${operations.map(([id, operation]) => tableRow(id, operation)).join('\n')}
} as const satisfies Readonly<Record<string, OperationInfo>>;

export type OperationId = keyof typeof operations;

export type Operations = {
${operations.map(([id, operation]) => operationType(id, operation, names)).join('\n')}
};
`;
  return [
    { path: TARGET, text },
    { path: VALUES_TARGET, text: valuesText(await exportsOf([...AGENT_MODULES, ...modules])) },
    { path: STREAM_TARGET, text: streamText() },
    { path: ROLES_TARGET, text: rolesText() },
    { path: SSH_KEY_TARGET, text: await sshKeyText() },
  ];
};

if (import.meta.main) {
  for (const { path, text } of await sdkTypes()) {
    await writeFile(join(ROOT, path), text);
    console.log(`wrote ${path}`);
  }
}
