import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { mockStage } from '../../../console/mock-api/test/scenario-mock.ts';
import { scenarios } from '../../../contract/test/scenarios/index.ts';
import { play, type TestBed } from '../../../contract/test/scenarios/scenario.ts';
import { transcriptOf } from '../../../contract/test/scenarios/transcript.ts';
import { startServerStage } from '../../test/scenario-server.ts';

describe('the server passes every scenario of the contract, and the console’s mock gives the same responses', () => {
  const closers: (() => Promise<void>)[] = [];
  let server: TestBed;
  before(async () => {
    server = await startServerStage({ after: (fn) => void closers.unshift(fn) });
  });
  after(async () => {
    for (const close of closers) await close();
  });

  for (const scenario of scenarios)
    it(scenario.name, async () => {
      const here = transcriptOf(await play(server, scenario));
      const there = transcriptOf(await play(mockStage, scenario));
      assert.deepEqual(there, here);
    });
});
