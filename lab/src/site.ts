/** Applies the demo site to an empty control plane, through the same operations as `gpuaas admin site plan` and `apply`. */
import { readFile } from 'node:fs/promises';
import type { Client, SiteFile } from '@gpuaas/sdk';
import { parse } from 'yaml';

const FILE = new URL('../site.yaml', import.meta.url);

/** A site that has a region, retired or not, belongs to its operators. Returns whether it was empty. */
export const ensureSite = async (client: Client): Promise<boolean> => {
  const { items } = await client.adminRegionList({ query: { include_retired: true, limit: 1 } });
  if (items.length > 0) return false;
  // The server validates it.
  const site = parse(await readFile(FILE, 'utf8')) as SiteFile;
  const { hash } = await client.adminSitePlan({ body: { site } });
  await client.adminSiteApply({ body: { site, hash } });
  return true;
};
