/** The table is typed by the contract: an operation without a successful request does not compile. */
import type { Scenarios } from './request.ts';
import { allocationScenarios } from './scenarios-allocation.ts';
import { platformScenarios } from './scenarios-platform.ts';
import { tenantScenarios } from './scenarios-tenant.ts';

export const scenarios: Scenarios = { ...tenantScenarios, ...allocationScenarios, ...platformScenarios };
