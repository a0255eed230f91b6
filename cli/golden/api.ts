/** A small API that responds from fixtures and records its requests, with an OIDC issuer beside it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ERRORS } from '@gpuaas/contract';
import { type CallId, type OperationId, type OperationInfo, operations, type Problem } from '@gpuaas/sdk';
import { type Answers, answers, event, exported, organizationEvent, recorded } from './fixtures.ts';

const STREAMED = { eventStream: event, adminEventStream: event, organizationEventStream: organizationEvent };

/** An error, or a function of the number of earlier calls of the operation. */
export class Refusal {
  readonly problem: Problem;
  readonly headers: Record<string, string>;

  constructor(status: number, code: Problem['code'], detail: string, more: Partial<Problem> = {}) {
    this.headers = more.retry_after_s ? { 'retry-after': String(more.retry_after_s) } : {};
    this.problem = {
      type: `/docs/errors#${code}`,
      title: ERRORS[code].title,
      status,
      detail,
      instance: '/',
      code,
      correlation_id: '',
      retryable: false,
      retry_after_s: null,
      errors: [],
      reasons: [],
      alternatives: [],
      actions: [{ rel: 'help', href: `http://docs.test/errors/${code}`, text: ERRORS[code].help }],
      ...more,
    };
  }
}

export type Overrides = { [K in CallId]?: Answers[K] | Refusal | ((count: number) => Answers[K] | Refusal) } & {
  eventStream?: Refusal;
};

export type FixtureApi = Readonly<{
  url: string;
  /** One line per request, in order. */
  requests: string[];
  called: Set<OperationId>;
  /** The Idempotency-Key of each request that had one. */
  keys: string[];
  close(): void;
}>;

const routes = (Object.entries<OperationInfo>(operations) as [OperationId, OperationInfo][]).map(([id, info]) => ({
  id,
  info,
  pattern: new RegExp(`^${info.path.replace(/\{\w+\}/g, '([^/]+)')}$`),
}));

const bodyOf = async (req: IncomingMessage): Promise<string> => {
  let body = '';
  for await (const chunk of req) body += chunk;
  return body;
};

const json = (res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) => {
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(body === undefined ? undefined : JSON.stringify(body));
};

export const DEV_PASSWORD = 'correct horse';

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A list contains what the query selects. */
const selected = (answer: unknown, query: URLSearchParams): unknown => {
  if (!isFields(answer) || !Array.isArray(answer['items'])) return answer;
  const matches = (item: unknown) =>
    !isFields(item) ||
    [...query].every(([name, value]) => typeof item[name] !== 'string' || name === 'level' || item[name] === value);
  return { ...answer, items: answer['items'].filter(matches) };
};

/** A created or changed resource has the values of the request. */
const echoed = (answer: unknown, body: string): unknown => {
  const sent: unknown = body.startsWith('{') ? JSON.parse(body) : null;
  if (!isFields(answer) || !isFields(sent)) return answer;
  const values = Object.entries(sent).filter(([name]) => Object.hasOwn(answer, name));
  return { ...answer, ...Object.fromEntries(values) };
};

/** The responses of the embedded issuer: discovery, device code and tokens. */
const issuer = (url: string, path: string, body: string, polls: { count: number }): [number, unknown] => {
  const form = new URLSearchParams(body);
  if (path === '/.well-known/gpuaas')
    return [
      200,
      {
        api_version: 'v1',
        issuer: `${url}/oidc`,
        audience: 'gpuaas-api',
        cli_client_id: 'gpuaas-cli',
        console_client_id: 'gpuaas-console',
        embedded_issuer: true,
      },
    ];
  if (path === '/oidc/.well-known/openid-configuration')
    return [
      200,
      {
        issuer: `${url}/oidc`,
        token_endpoint: `${url}/oidc/token`,
        device_authorization_endpoint: `${url}/oidc/device`,
      },
    ];
  if (path === '/oidc/device')
    return [
      200,
      {
        device_code: 'dev-1',
        user_code: 'WXYZ-1234',
        verification_uri: `${url}/oidc/device-page`,
        verification_uri_complete: `${url}/oidc/device-page?user_code=WXYZ-1234`,
        interval: 0.01,
        expires_in: 60,
      },
    ];
  const tokens = { access_token: 'access-1', refresh_token: 'refresh-1', expires_in: 3600, token_type: 'Bearer' };
  switch (form.get('grant_type')) {
    case 'urn:gpuaas:grant:dev':
      return form.get('password') === DEV_PASSWORD
        ? [200, tokens]
        : [400, { error: 'invalid_grant', error_description: 'The username or password is wrong.' }];
    case 'refresh_token':
      return form.get('refresh_token') === 'refresh-0' ? [200, tokens] : [400, { error: 'invalid_grant' }];
    default:
      return ++polls.count < 3 ? [400, { error: 'authorization_pending' }] : [200, tokens];
  }
};

export const startApi = async (overrides: Overrides = {}): Promise<FixtureApi> => {
  const requests: string[] = [];
  const called = new Set<OperationId>();
  const keys: string[] = [];
  const counts = new Map<string, number>();
  const polls = { count: 0 };

  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
    const body = await bodyOf(req);
    const target = new URL(req.url ?? '/', url);
    const facts = ['if-match', 'last-event-id'].flatMap((name) =>
      req.headers[name] ? [` ${name}=${req.headers[name]}`] : [],
    );
    const key = req.headers['idempotency-key'];
    if (typeof key === 'string') keys.push(key);
    requests.push(`${req.method} ${req.url}${facts.join('')}${body === '' ? '' : ` ${body}`}`);
    if (target.pathname.startsWith('/oidc') || target.pathname.startsWith('/.well-known'))
      return json(res, ...issuer(url, target.pathname, body, polls));
    const correlation = { 'x-correlation-id': String(req.headers['x-correlation-id']) };
    const refuse = (refusal: Refusal) =>
      json(
        res,
        refusal.problem.status,
        { ...refusal.problem, correlation_id: correlation['x-correlation-id'] },
        { ...correlation, ...refusal.headers },
      );
    const route = routes.find(({ info, pattern }) => info.method === req.method && pattern.test(target.pathname));
    if (route === undefined) return refuse(new Refusal(404, 'not_found', 'No resource exists at this path.'));
    called.add(route.id);
    const isSignedIn = ['Bearer gp_test', 'Bearer access-1'].includes(String(req.headers.authorization));
    if (!isSignedIn && route.info.public !== true)
      return refuse(new Refusal(401, 'unauthenticated', 'The token is unknown, expired or revoked.'));
    if (route.info.idempotency === 'required' && !req.headers['idempotency-key'])
      return refuse(new Refusal(400, 'idempotency_key_missing', 'This operation needs an Idempotency-Key header.'));
    if (route.id === 'auditLogExport' || route.id === 'terminalRecordingGet') {
      res.writeHead(200, { 'content-type': 'application/jsonl', ...correlation });
      const rows: readonly unknown[] = route.id === 'auditLogExport' ? exported : recorded;
      return res.end(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    }
    if (route.id === 'eventStream' && overrides.eventStream !== undefined) return refuse(overrides.eventStream);
    const streamed = (STREAMED as Partial<Record<OperationId, object & { id: string }>>)[route.id];
    if (streamed !== undefined) {
      res.writeHead(200, { 'content-type': 'text/event-stream', ...correlation });
      return res.write(`: hello\n\nid: ${streamed.id}\ndata: ${JSON.stringify(streamed)}\n\n`);
    }
    const count = counts.get(route.id) ?? 0;
    counts.set(route.id, count + 1);
    const call = route.id as CallId;
    const override = call in overrides ? overrides[call] : answers[call];
    const answer = typeof override === 'function' ? override(count) : override;
    if (answer instanceof Refusal) return refuse(answer);
    const shown = route.info.method === 'GET' ? selected(answer, target.searchParams) : echoed(answer, body);
    return json(res, answer === undefined ? 204 : route.info.method === 'POST' ? 201 : 200, shown, correlation);
  };
  const server = createServer((req, res) => void handle(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    called,
    keys,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
