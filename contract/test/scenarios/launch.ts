import assert from 'node:assert/strict';
import { BAREMETAL_SKU, codesOf, type Scenario, SLICE_SKU } from './scenario.ts';

export const launchScenarios: readonly Scenario[] = [
  {
    name: 'a launch is refused with reasons where no single node has enough, and its alternative fits',
    play: async ({ addNode, must, refused, launch }) => {
      await addNode('slice');
      await must('member', 'allocationCreate', launch('four', { gpu_count: 4 }));
      await must('member', 'allocationCreate', launch('two', { gpu_count: 2 }));
      const problem = await refused(
        'insufficient_capacity',
        'member',
        'allocationCreate',
        launch('no', { gpu_count: 4 }),
      );
      assert.deepEqual(codesOf(problem), ['no_capacity', 'claimed', 'fragmented', 'filters']);
      assert.equal(problem.retryable, true);
      const [alternative] = problem.alternatives;
      assert.equal(alternative.gpu_count, 2);
      const { capacity_shape: _, ...fits } = alternative;
      await must('member', 'allocationCreate', launch('less', fits));
    },
  },
  {
    name: 'a launch into a region without nodes is refused with that reason and no alternative',
    play: async ({ refused, must, launch }) => {
      const problem = await refused('insufficient_capacity', 'owner', 'allocationCreate', launch('early'));
      assert.equal(codesOf(problem)[0], 'no_nodes');
      assert.deepEqual(problem.alternatives, []);
      const { name: _, ...body } = launch('early').body as Record<string, unknown>;
      const estimate = await must('owner', 'allocationEstimate', { params: launch('').params ?? {}, body });
      assert.deepEqual([estimate.fits_now, estimate.code], [false, 'insufficient_capacity']);
    },
  },
  {
    name: 'a launch beyond the quota is refused by the quota, whatever is free',
    play: async ({ addNode, must, refused, launch, organization_id, project_id }) => {
      await addNode('slice');
      const [quota] = (await must('operator', 'adminQuotaList', { query: { organization_id } })).items;
      await must('operator', 'adminQuotaPut', {
        body: { organization_id, gpu_limit: 3 },
        if_match: quota?.version ?? 1,
      });
      await must('owner', 'allocationCreate', launch('first', { gpu_count: 2 }));
      const problem = await refused('quota_exceeded', 'owner', 'allocationCreate', launch('second', { gpu_count: 2 }));
      assert.equal(codesOf(problem)[0], 'quota_exceeded');
      const { organization, gpus_remaining } = await must('owner', 'quotaGet', { params: { project_id } });
      assert.deepEqual([organization.gpu_used, gpus_remaining], [2, 1]);
      const fits = problem.alternatives.find((one: { gpu_count: number }) => one.gpu_count === 1);
      assert.ok(fits, 'one GPU is offered');
    },
  },
  {
    name: 'a launch into a disabled region is refused with what the operator wrote about it',
    play: async ({ addNode, must, refused, launch, region_name }) => {
      await addNode('slice');
      const regions = (await must('owner', 'regionList')).items;
      const { version } = regions.find((one: { name: string }) => one.name === region_name);
      await must('operator', 'adminRegionUpdate', {
        params: { region_name },
        body: { enabled: false, disabled_reason: 'The power supply is being replaced.' },
        if_match: version,
      });
      const problem = await refused('region_disabled', 'owner', 'allocationCreate', launch('late'));
      assert.match(problem.detail, /The power supply is being replaced\.$/);
    },
  },
  {
    name: 'a launch that can never work is refused by the field that is wrong',
    play: async ({ addNode, must, active, refused, launch }) => {
      await addNode('flexible');
      const pointer = async (over: Readonly<Record<string, unknown>>) =>
        (await refused('invalid_request', 'owner', 'allocationCreate', launch('wrong', over))).errors[0].pointer;
      assert.equal(await pointer({ gpu_count: 3 }), '/body/gpu_count');
      assert.equal(await pointer({ image_name: 'none-such' }), '/body/image_name');
      assert.equal(await pointer({ vm_profile: 'none-such' }), '/body/vm_profile');
      const whole = { sku_name: BAREMETAL_SKU, gpu_count: 8, user_data: '#cloud-config\n{}\n' };
      assert.equal(await pointer(whole), '/body/user_data');
      const { image_name } = (await must('owner', 'allocationGet', (await active('named')).at)) as {
        image_name: string;
      };
      const imaged = await refused(
        'invalid_request',
        'owner',
        'allocationCreate',
        launch('wrong', { sku_name: BAREMETAL_SKU, gpu_count: 8, image_name }),
      );
      assert.deepEqual(
        imaged.errors.map((error: { pointer: string; code: string }) => [error.pointer, error.code]),
        [['/body/image_name', 'slices_only']],
      );
      assert.match(imaged.detail, /bare metal, which keeps the operating system of its node\. Leave it out\./);
      assert.equal(await pointer({ color: 'blue' }), '/body/color');
      for (const over of [{ sku_name: 'none-such' }, { region_name: 'none-such' }])
        await refused('not_found', 'owner', 'allocationCreate', launch('wrong', over));
      const keys = [`key_${'0'.repeat(26)}`];
      await refused('not_found', 'owner', 'allocationCreate', launch('wrong', { ssh_key_ids: keys }));
    },
  },
  {
    name: 'an estimate lists storage and network with a reason for each that is not available, and a launch with that one is refused by its field',
    play: async ({ addNode, must, refused, launch, project_id }) => {
      await addNode('slice');
      const offered = async (over: Readonly<Record<string, unknown>>) => {
        const { name: _, ...body } = launch('x', over).body as Record<string, unknown>;
        const { storage, network } = await must('viewer', 'allocationEstimate', { params: { project_id }, body });
        return [...storage, ...network].map((one: { name: string; reason: string | null }) => [
          one.name,
          one.reason === null,
        ]);
      };
      const whole = { sku_name: BAREMETAL_SKU, gpu_count: 8 };
      // No region isolates the fabric.
      const told = (raw: boolean, formatted: boolean, private_nat: boolean) =>
        Object.entries({ raw, formatted, private_nat, fabric: false });
      assert.deepEqual(await offered({ gpu_count: 2 }), told(true, true, true));
      assert.deepEqual(await offered({ gpu_count: 1 }), told(true, false, true));
      assert.deepEqual(await offered(whole), told(true, false, false));
      const pointer = async (over: Readonly<Record<string, unknown>>) =>
        (await refused('invalid_request', 'owner', 'allocationCreate', launch('wrong', over))).errors[0].pointer;
      assert.equal(await pointer({ gpu_count: 1, storage: 'formatted' }), '/body/storage');
      assert.equal(await pointer({ ...whole, storage: 'formatted' }), '/body/storage');
      assert.equal(await pointer({ ...whole, network: 'private_nat' }), '/body/network');
      assert.equal(await pointer({ storage: 'floppy' }), '/body/storage');
      assert.equal(await pointer({ network: 'fabric' }), '/body/network');
    },
  },
  {
    name: 'catalog, estimate and allocation say in the same words that slices have no fabric where a region does not isolate tenants',
    play: async ({ addNode, must, refused, launch, active, project_id, region_name }) => {
      await addNode('slice');
      const { items } = await must('viewer', 'regionList');
      const region = items.find((one: { name: string }) => one.name === region_name);
      assert.equal(region.fabric_isolation, 'none');
      const { name: _, ...body } = launch('x').body as Record<string, unknown>;
      const { fabric, network } = await must('viewer', 'allocationEstimate', { params: { project_id }, body });
      assert.equal(fabric.available, false);
      const skus = (await must('viewer', 'skuList')).items;
      const sku = skus.find((one: { name: string }) => one.name === SLICE_SKU);
      const inRegion = sku.fabric.find((one: { region_name: string }) => one.region_name === region_name);
      assert.deepEqual(inRegion, { region_name, ...fabric });
      const { at } = await active('cut-off');
      assert.deepEqual((await must('owner', 'allocationGet', at)).fabric, fabric);
      const [listed] = network.filter((one: { name: string }) => one.name === 'fabric');
      assert.equal(listed.available, false);
      const [error] = (
        await refused('invalid_request', 'owner', 'allocationCreate', launch('no', { network: 'fabric' }))
      ).errors;
      assert.ok(error.message.includes(listed.reason.replace(/\.$/, '')), error.message);
      const params = { region_name };
      await refused('invalid_request', 'operator', 'adminRegionUpdate', {
        params,
        body: { fabric_isolation: 'ufm' },
        if_match: region.version,
      });
      const same = { params, body: { fabric_isolation: 'none' }, if_match: region.version };
      assert.equal((await must('operator', 'adminRegionUpdate', same)).fabric_isolation, 'none');
    },
  },
  {
    name: 'an allocation keeps the storage and the network of its launch, also through a reinstallation',
    play: async ({ addNode, must, active, settle }) => {
      await addNode('flexible');
      const { at } = await active('disks', { gpu_count: 2, storage: 'formatted' });
      const chosen = async (of = at) => {
        const { storage, network } = await must('owner', 'allocationGet', of);
        return [storage, network];
      };
      assert.deepEqual(await chosen(), ['formatted', 'private_nat']);
      await must('owner', 'allocationReinstall', { ...at, body: {} });
      await settle();
      assert.deepEqual(await chosen(), ['formatted', 'private_nat']);
      const plain = await active('plain', { gpu_count: 2 });
      assert.deepEqual(await chosen(plain.at), ['raw', 'private_nat']);
      await addNode('baremetal');
      const whole = await active('whole', { sku_name: BAREMETAL_SKU, gpu_count: 8 });
      assert.deepEqual(await chosen(whole.at), ['raw', null]);
    },
  },
  {
    name: 'a name is taken while its allocation lives, and free again after',
    play: async ({ addNode, must, refused, launch, active, settle }) => {
      await addNode('slice');
      const { at } = await active('train');
      await refused('already_exists', 'owner', 'allocationCreate', launch('train'));
      await must('owner', 'allocationRelease', { ...at, body: {} });
      await refused('already_exists', 'owner', 'allocationCreate', launch('train'));
      await settle();
      await must('owner', 'allocationCreate', launch('train'));
    },
  },
  {
    name: 'a bare-metal launch takes a whole node, and never one that is for slices',
    play: async ({ addNode, must, refused, launch, active }) => {
      await addNode('slice');
      const whole = { sku_name: BAREMETAL_SKU, gpu_count: 8 };
      const early = await refused('insufficient_capacity', 'owner', 'allocationCreate', launch('metal', whole));
      assert.ok(!early.alternatives.some((one: { sku_name: string }) => one.sku_name === BAREMETAL_SKU));
      await addNode('baremetal');
      const { at } = await active('metal', whole);
      const { actions, power } = await must('owner', 'allocationGet', at);
      assert.equal(power, null);
      assert.deepEqual(
        actions.map((action: { name: string }) => action.name),
        ['update', 'release', 'connect', 'console', 'grant'],
      );
      await refused('conflict', 'owner', 'allocationStop', { ...at, body: {} });
      await refused('insufficient_capacity', 'owner', 'allocationCreate', launch('other', whole));
    },
  },
  {
    name: 'an estimate returns price, fit and quota, and launches nothing',
    play: async ({ addNode, must, launch, project_id }) => {
      await addNode('slice');
      await addNode('flexible');
      const { name: _, ...body } = launch('x', { gpu_count: 4 }).body as Record<string, unknown>;
      const estimate = await must('viewer', 'allocationEstimate', { params: { project_id }, body });
      assert.deepEqual([estimate.fits_now, estimate.fits_on_nodes, estimate.largest_set], [true, 2, 8]);
      assert.equal(estimate.price_per_hour.amount_minor * 24, estimate.price_per_day.amount_minor);
      assert.deepEqual((await must('viewer', 'allocationList', { params: { project_id } })).items, []);
    },
  },
];
