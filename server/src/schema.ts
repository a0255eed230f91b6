/** Ajv for every edge: JSON Schema 2020-12, strict about schemas, with the two formats of the contract. */
import { Ajv2020, type Options } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export const createAjv = (options: Options): Ajv2020 => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true, ...options });
  // Both module systems provide different wrappings of the same function.
  const add = (addFormats as unknown as { default?: typeof addFormats }).default ?? addFormats;
  (add as unknown as (ajv: Ajv2020, formats: string[]) => void)(ajv, ['date-time', 'email']);
  return ajv;
};
