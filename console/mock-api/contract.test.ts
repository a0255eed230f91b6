import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  api as contract,
  LIMIT_NAMES,
  LIMITS,
  limitRefusal,
  type Operation,
  type OperationId,
  Problem,
} from '@gpuaas/contract';
import { errorsOf } from './core/validate.ts';
import { ask, type ScenarioRequest, type TestApi, testApi } from './test/request.ts';
import { scenarios } from './test/scenarios.ts';

const operations = Object.entries<Operation>(contract) as [OperationId, Operation][];

const requestFor = async (api: TestApi, id: OperationId): Promise<ScenarioRequest> =>
  (await (scenarios[id] as (api: TestApi) => ScenarioRequest | Promise<ScenarioRequest>)(api)) ?? {};

const firstLine = async (response: Response): Promise<unknown> => {
  const reader = (response.body ?? assert.fail('no body')).getReader();
  let text = '';
  while (!text.includes('\n')) text += new TextDecoder().decode((await reader.read()).value);
  await reader.cancel();
  return JSON.parse(text.slice(0, text.indexOf('\n')));
};

describe('every operation returns a success response that matches the contract', () => {
  for (const [id, operation] of operations)
    test(id, async () => {
      const api = testApi({ checksResponses: false });
      const response = await ask(api, id, await requestFor(api, id));
      const isEvents = operation.stream === 'text/event-stream';
      if (isEvents) {
        assert.equal(response.status, 200);
        assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
        await response.body?.cancel();
        return;
      }
      if (!response.ok) assert.fail(await response.text());
      assert.equal(response.status, operation.status);
      assert.match(response.headers.get('x-correlation-id') ?? '', /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/);
      assert.equal(response.headers.has('location'), operation.location !== undefined);
      if (operation.response === null) return assert.equal(await response.text(), '');
      const body = operation.stream === undefined ? await response.json() : await firstLine(response);
      assert.deepEqual(errorsOf(operation.response, body), []);
    });
});

const isPage = ({ response }: Operation): boolean =>
  response !== null && 'properties' in response && 'next_cursor' in (response.properties as object);

type Page = Readonly<{ items: unknown[]; next_cursor: string | null }>;

describe('every list returns the same rows page by page as in one page', () => {
  for (const [id] of operations.filter(([, operation]) => isPage(operation)))
    test(id, async () => {
      const api = testApi();
      const asked = await requestFor(api, id);
      const page = async (query: object): Promise<Page> => {
        const response = await ask(api, id, { ...asked, query: { ...asked.query, ...query } });
        assert.equal(response.status, 200);
        return (await response.json()) as Page;
      };
      const whole = (await page({ limit: 200 })).items.slice(0, 40);
      const found: unknown[] = [];
      const limit = whole.length > 10 ? 7 : 1;
      for (let cursor: string | null | undefined; cursor !== null && found.length < whole.length; ) {
        const next: Page = await page({ limit, ...(cursor === undefined ? {} : { cursor }) });
        assert.ok(next.items.length <= limit);
        found.push(...next.items);
        cursor = next.next_cursor;
      }
      assert.deepEqual(found.slice(0, whole.length), whole);
    });

  test('a cursor of another list is refused', async () => {
    const api = testApi();
    const { next_cursor: cursor } = (await (await ask(api, 'regionList', { query: { limit: 1 } })).json()) as Page;
    const response = await ask(api, 'skuList', { query: { cursor } });
    assert.equal(response.status, 400);
  });
});

describe('a request that violates its schema is refused with each invalid field named', () => {
  for (const [id, operation] of operations.filter(([, one]) => one.body !== undefined))
    test(id, async () => {
      const api = testApi();
      const asked = await requestFor(api, id);
      const body = { ...asked.body, not_in_the_contract: 1 };
      const response = await ask(api, id, { ...asked, body });
      const problem = (await response.json()) as { code: string; errors: { pointer: string; code: string }[] };
      assert.equal(response.status, 400, JSON.stringify(problem));
      assert.deepEqual(errorsOf(Problem, problem), []);
      assert.ok(
        problem.errors.some((one) => one.pointer === '/body/not_in_the_contract'),
        operation.path,
      );
    });
});

describe('a limit that is reached refuses every operation that adds to it', () => {
  const limits = LIMIT_NAMES.flatMap((name) => LIMITS[name].added_by.map((id) => ({ name, id })));
  for (const { name, id } of limits.filter((one) => one.id !== 'serviceAccountTokenIssue'))
    test(`${name}: ${id}`, async () => {
      const api = testApi();
      for (const policy of api.world.policies.values()) policy.records_terminals = true;
      const request = await requestFor(api, id);
      api.world.limits[name] = 0;
      const before = JSON.stringify([...api.world.sessions, ...api.world.projects, api.world.tokens]);
      const response = await ask(api, id, request);
      const { code, detail } = (await response.json()) as Readonly<{ code: string; detail: string }>;
      assert.deepEqual([response.status, code, detail], [409, 'limit_exceeded', limitRefusal(name, 0)]);
      assert.equal(JSON.stringify([...api.world.sessions, ...api.world.projects, api.world.tokens]), before);
    });

  test('a session that is not recorded adds no recording', async () => {
    const api = testApi();
    for (const policy of api.world.policies.values()) policy.records_terminals = false;
    const request = await requestFor(api, 'terminalTicketCreate');
    api.world.limits.recordings = 0;
    assert.equal((await ask(api, 'terminalTicketCreate', request)).status, contract.terminalTicketCreate.status);
  });
});
