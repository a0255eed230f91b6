import { describe, test } from 'node:test';
import { scenarios } from '../../contract/test/scenarios/index.ts';
import { play } from '../../contract/test/scenarios/scenario.ts';
import { mockStage } from './test/scenario-mock.ts';
import { siteFileScenarios } from './test/scenarios-site-file.ts';

describe('the mock passes every scenario of the contract', () => {
  for (const scenario of [...scenarios, ...siteFileScenarios])
    test(scenario.name, async () => void (await play(mockStage, scenario)));
});
