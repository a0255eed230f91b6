/** The site as a file. It shows the whole demo, which differs from the server's: only the mock plays it. */
import assert from 'node:assert/strict';
import type { Scenario } from '../../../contract/test/scenarios/scenario.ts';

export const siteFileScenarios: readonly Scenario[] = [
  {
    name: 'an exported site changes nothing, and a changed file changes what it lists',
    play: async ({ must, refused }) => {
      const site = await must('operator', 'adminSiteExport', {});
      assert.deepEqual((await must('operator', 'adminSitePlan', { body: { site } })).changes, []);
      const [policy, region] = [site.policy, site.regions?.[0]];
      assert.ok(policy !== undefined && region !== undefined);
      const [tenant] = (await must('operator', 'adminOrganizationList', {})).items;

      const sku = {
        ...{ name: 'site-of-a-test', display_name: 'Site', vendor: 'NVIDIA', gpu_model: 'MODEL of a site' },
        ...{ capacity_shape: 'gpu_slice' as const, gpus_per_node: 8, allowed_gpu_counts: [1, 2] },
      };
      const profile = { name: 'site_1g', sku_name: sku.name, gpu_count: 1, vcpu_count: 4, memory_mib: 8_192 };
      const price = { sku_name: sku.name, gpu_hourly_price_minor: 300, currency: 'USD' };
      const next = {
        ...site,
        skus: [...(site.skus ?? []), sku],
        vm_profiles: [...(site.vm_profiles ?? []), { ...profile, is_default: true }],
        prices: [...(site.prices ?? []), price],
        pools: [...(site.pools ?? []), { name: 'site-of-a-test' }],
        policy: { ...policy, contact: 'The operators of a test' },
        quotas: [{ organization: tenant.name, project: null, gpu_limit: 3 }],
      };
      const { hash, changes } = await must('operator', 'adminSitePlan', { body: { site: next } });
      assert.deepEqual(
        changes.map(({ action, section, name }: Readonly<Record<string, string>>) => [action, section, name]),
        [
          ['create', 'skus', sku.name],
          ['create', 'vm_profiles', profile.name],
          ['create', 'prices', sku.name],
          ['create', 'pools', 'site-of-a-test'],
          ['update', 'policy', 'policy'],
          ['create', 'quotas', tenant.name],
        ],
      );
      await refused('conflict', 'operator', 'adminSiteApply', { body: { site: next, hash: '0'.repeat(16) } });
      await must('operator', 'adminSiteApply', { body: { site: next, hash } });
      assert.deepEqual((await must('operator', 'adminSitePlan', { body: { site: next } })).changes, []);
      const wrong = { ...next, regions: [{ ...region, enabled: false, disabled_reason: null }] };
      const problem = await refused('invalid_request', 'operator', 'adminSitePlan', { body: { site: wrong } });
      assert.deepEqual(
        problem.errors.map(({ pointer }: Readonly<{ pointer: string }>) => pointer),
        ['/body/site/regions/0/disabled_reason'],
      );
      // Back as it was: what is not listed is retired.
      const back = await must('operator', 'adminSitePlan', { body: { site } });
      await must('operator', 'adminSiteApply', { body: { site, hash: back.hash } });
      assert.deepEqual(await must('operator', 'adminSiteExport', {}), site);
    },
  },
];
