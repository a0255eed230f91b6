/** `gpuaas api`: calls any API path with the credential of the profile, for operations without a command. */
import { newIdempotencyKey } from '@gpuaas/sdk';
import { safeJson } from '../clean.ts';
import { command, list, text } from '../command.ts';
import { UsageError } from '../exit.ts';
import { keyFlags } from '../flags.ts';
import { readNamed } from '../io.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const split = (pair: string, flag: string): [string, string] => {
  const at = pair.indexOf('=');
  if (at < 1) throw new UsageError(`${flag} expects name=value, not "${pair}".`);
  return [pair.slice(0, at), pair.slice(at + 1)];
};

const typed = (pair: string): [string, unknown] => {
  const [name, value] = split(pair, '--json-field');
  try {
    return [name, JSON.parse(value)];
  } catch {
    throw new UsageError(`The value of ${name} is not JSON: ${value}`, 'Use -f for text.');
  }
};

/** JSON is pretty-printed; other text is printed as received, without control sequences. */
const pretty = (body: string): string => {
  try {
    return safeJson(JSON.parse(body), 2);
  } catch {
    return body.replace(/[^\P{Cc}\n\t]/gu, '').trimEnd();
  }
};

export const api = command({
  name: 'api',
  summary: 'Call any path of the API and print the response',
  args: {
    method: 'GET, POST, PUT, PATCH or DELETE (default GET, or POST with a body)',
    'path?': 'Path below the API, such as /api/v1/me or me',
  },
  flags: {
    field: { ...list('A text field of the body', 'name=value'), short: 'f' },
    'json-field': { ...list('A field of the body whose value is JSON', 'name=json'), short: 'F' },
    query: { ...list('A query parameter', 'name=value'), short: 'q' },
    input: text('Body from a file, or - for standard input', 'file'),
    'if-match': text('ETag or version the change is based on', 'etag'),
    ...keyFlags,
  },
  examples: [
    'gpuaas api me',
    'gpuaas api skus -q limit=5',
    'gpuaas api POST /api/v1/ssh-keys -f name=laptop -f public_key="$(cat id.pub)"',
  ],
  run: async (cli, { args, flags }) => {
    const [first, second] = [args.method, args.path];
    const fields = [
      ...(flags.field ?? []).map((pair) => split(pair, '--field')),
      ...(flags.jsonField ?? []).map(typed),
    ];
    if (fields.length > 0 && flags.input !== undefined) throw new UsageError('Fields and --input cannot be combined.');
    const hasBody = fields.length > 0 || flags.input !== undefined;
    const method = (second === undefined ? (hasBody ? 'POST' : 'GET') : first).toUpperCase();
    if (!METHODS.includes(method))
      throw new UsageError(`${first} is not an HTTP method.`, `Use one of ${METHODS.join(', ')}.`);
    const given = second ?? first;
    const path = given.startsWith('/') ? given : `/api/v1/${given}`;
    const query = new URLSearchParams((flags.query ?? []).map((pair) => split(pair, '--query'))).toString();
    const input = flags.input === undefined ? undefined : await readNamed(cli.io, flags.input);
    if (input === null) throw new UsageError(`${flags.input} cannot be read.`);
    const body = fields.length > 0 ? JSON.stringify(Object.fromEntries(fields)) : input;
    const needsBody = method !== 'GET' && method !== 'DELETE';
    const response = await (await cli.client()).raw(
      {
        method,
        path: query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
        ...(body !== undefined || needsBody
          ? { headers: { 'content-type': 'application/json' }, body: body ?? '{}' }
          : {}),
      },
      {
        signal: cli.signal,
        idempotencyKey: flags.idempotencyKey ?? (method === 'POST' ? newIdempotencyKey() : undefined),
        ifMatch: flags.ifMatch !== undefined && /^\d+$/.test(flags.ifMatch) ? Number(flags.ifMatch) : flags.ifMatch,
      },
    );
    if (response.data !== '') cli.out.print(pretty(response.data));
    if (method !== 'GET')
      cli.out.say(`status ${response.status}, correlation id ${response.correlation_id ?? 'unknown'}`);
  },
});
