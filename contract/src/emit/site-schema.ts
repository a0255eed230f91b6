/** JSON Schema of a site file, for editors. */
import { SiteFile } from '../public/admin-site.ts';
import type { JsonObject } from './schemas.ts';

export const siteSchema = (): JsonObject => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'GPUaaS site file',
  ...(JSON.parse(JSON.stringify(SiteFile)) as JsonObject),
});
