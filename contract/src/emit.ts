/**
 * The contract as documents: the router, OpenAPI and AsyncAPI agree because they come from the same values. Everything
 * here is pure and deterministic, so a fresh run can be compared with the committed files.
 */
export { asyncapi } from './emit/asyncapi.ts';
export { errorsOf } from './emit/errors-of.ts';
export { exampleOf } from './emit/example.ts';
export { nodeOpenapi } from './emit/node-openapi.ts';
export { openapi } from './emit/openapi.ts';
export type { Json, JsonObject } from './emit/schemas.ts';
export { siteSchema } from './emit/site-schema.ts';
