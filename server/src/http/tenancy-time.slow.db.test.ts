/**
 * The time of a response tells nothing about another tenant. Each pair of requests, for what another tenant has and for
 * what does not exist, is sent back to back in alternating order, and only which of the two was slower is counted: a busy
 * machine slows both. Without a difference each is slower in half of the pairs. The same measure has to see a real
 * difference, that of an id of one's own.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { api, type OperationId } from '@gpuaas/contract';
import { startTestApp, type TestResponse, testClock } from '../../test/app.ts';
import { ask, idsOf } from '../../test/request.ts';
import { makeTenants, strangeId, type Tenants } from '../../test/tenants.ts';

const PAIRS = 400;
/** Four standard deviations of the share of 400 fair coins. */
const SHARE_TOLERANCE = 0.1;

type Send = () => Promise<TestResponse>;

const timeOf = async (send: Send): Promise<number> => {
  const began = performance.now();
  await send();
  return performance.now() - began;
};

/** In how many of the pairs the first is slower. */
const shareSlower = async (one: Send, other: Send): Promise<number> => {
  for (let warm = 0; warm < 10; warm++) for (const send of [one, other]) await send();
  let slower = 0;
  for (let pair = 0; pair < PAIRS; pair++) {
    const isFirst = pair % 2 === 0;
    const early = await timeOf(isFirst ? one : other);
    const late = await timeOf(isFirst ? other : one);
    slower += Number(isFirst ? early > late : late > early);
  }
  return slower / PAIRS;
};

describe('the time of a response', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let tenants: Tenants;

  before(async () => {
    const clock = testClock();
    tenants = await makeTenants(t, await startTestApp(t, { roles: ['gpuaas-api'] }, { clock }), clock);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const path = (id: OperationId, name: string, body?: object) => (value: string) =>
    ask(tenants.acme.owner, api[id], {
      params: { ...idsOf(tenants.acme), [name]: value },
      ...(body === undefined ? {} : { body }),
    });
  const withoutDifference = async (
    send: (value: string) => Promise<TestResponse>,
    foreign: string,
    strange: string,
  ) => {
    const [theirs, nothing] = [await send(foreign), await send(strange)];
    assert.deepEqual([theirs.status, nothing.status], [404, 404]);
    const share = await shareSlower(
      () => send(foreign),
      () => send(strange),
    );
    assert.ok(Math.abs(share - 0.5) < SHARE_TOLERANCE, `theirs is slower in ${share * 100}% of the pairs`);
  };
  const theirs = (name: string): string => (tenants.rival.ids as Readonly<Record<string, string>>)[name] ?? '';

  it('is that of an id that does not exist, for a read of theirs', () =>
    withoutDifference(path('allocationGet', 'allocation_id'), theirs('allocation_id'), strangeId('allocation')));

  it('is that of an id that does not exist, for a change of theirs', () =>
    withoutDifference(
      path('allocationRelease', 'allocation_id', {}),
      theirs('allocation_id'),
      strangeId('allocation'),
    ));

  it('is that of an id that does not exist, for theirs in a body', () =>
    withoutDifference(
      (project_id) =>
        ask(tenants.acme.owner, api.apiTokenCreate, {
          body: { name: 'x', scopes: ['read'], expires_in_s: 60, project_id },
        }),
      theirs('project_id'),
      strangeId('project'),
    ));

  it('differs for an id of one’s own, which the same measure sees', async () => {
    const send = path('projectGet', 'project_id');
    const [own, strange] = [tenants.acme.ids.project_id, strangeId('project')];
    assert.deepEqual([(await send(own)).status, (await send(strange)).status], [200, 404]);
    const share = await shareSlower(
      () => send(own),
      () => send(strange),
    );
    assert.ok(Math.abs(share - 0.5) > SHARE_TOLERANCE, `its own is slower in ${share * 100}% of the pairs`);
  });
});
