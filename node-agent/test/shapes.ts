/** The contract's schemas, as test assertions. */
import assert from 'node:assert/strict';
import { HostFactsShape, TopologyMapShape } from '@gpuaas/contract/node';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

const ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true, formats: { 'date-time': true } });
const holds = (validate: ValidateFunction, value: unknown): void => {
  assert.ok(validate(value), ajv.errorsText(validate.errors));
};

const facts = ajv.compile(HostFactsShape);
const map = ajv.compile(TopologyMapShape);
export const assertHostFacts = (value: unknown): void => holds(facts, value);
export const assertTopologyMap = (value: unknown): void => holds(map, value);
