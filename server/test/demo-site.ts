/** The demo site of `make up`, applied as an operator applies it, for tests and benchmarks. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type Database, PLATFORM } from '../src/db/client.ts';
import { findRegion } from '../src/db/region.ts';
import type { Site } from '../src/domain/site.ts';
import { applySite } from '../src/services/site.ts';
import { haveImages } from './available-images.ts';

const REGION = 'us-buffalo-1';

const FILE = new URL('../../lab/site.yaml', import.meta.url);
let file: Site | undefined;

/** Its organizations exist only where people have signed in. */
export const demoSite = (): Site => {
  // The stories validate it: they apply it through the API.
  file ??= parse(readFileSync(FILE, 'utf8')) as Site;
  const { quotas: _, pools: __, ...site } = file;
  return site;
};

/** Does nothing where the site is there. Its hosts have its images. By default organizations start without a GPU limit. */
export const applyDemoSite = (database: Database, policy: Partial<Site['policy']> = {}): Promise<void> =>
  database.write(PLATFORM, async (tx) => {
    if ((await findRegion(tx, REGION)) !== undefined) return;
    const site = demoSite();
    if (site.policy === undefined) throw new Error('the demo site has no policy');
    const given = { ...site, policy: { ...site.policy, default_gpu_limit: null, ...policy } };
    await applySite(tx, given, null, { user_id: null, correlation_id: 'demo-site' });
    await haveImages(tx, REGION);
  });
