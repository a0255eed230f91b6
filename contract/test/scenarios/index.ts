/** Every scenario of the suite. */
import { accessScenarios } from './access.ts';
import { catalogScenarios } from './catalog.ts';
import { fleetScenarios } from './fleet.ts';
import { launchScenarios } from './launch.ts';
import { lifeScenarios } from './lifecycle.ts';
import { requestScenarios } from './request.ts';
import type { Scenario } from './scenario.ts';
import { siteScenarios } from './site.ts';
import { tenancyScenarios } from './tenancy.ts';

export const scenarios: readonly Scenario[] = [
  ...launchScenarios,
  ...lifeScenarios,
  ...tenancyScenarios,
  ...accessScenarios,
  ...requestScenarios,
  ...fleetScenarios,
  ...catalogScenarios,
  ...siteScenarios,
];
