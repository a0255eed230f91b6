import { type AdminSku, CAPACITY_SHAPES } from '@gpuaas/sdk';
import { choice, command, type Group, integer, required, text } from '../command.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { assertChange, availability, countsOf, reason, retiredFlags, switched, switchFlags } from './admin-catalog.ts';
import { priceOf, showSku } from './catalog.ts';

const GPU_IDS = 'PCI IDs, like 10de:2335, of this model that the product does not know';

const idsOf = (list: string): string[] => list.split(',').filter((id) => id !== '');

const sentence = ({ name, enabled, gpu_hourly_price, blockers }: AdminSku): string => {
  const state = `SKU ${name} is ${enabled ? 'enabled' : 'disabled'}`;
  return gpu_hourly_price === null
    ? `${state}. ${blockers.join(' ')}`
    : `${state} at ${priceOf(gpu_hourly_price)} per GPU hour.`;
};

const launchable = (sku: AdminSku): string => {
  const isBlocked = sku.enabled && sku.retired_at === null && sku.blockers.length > 0;
  return isBlocked ? `yes. ${sku.blockers.join(' ')}` : availability(sku);
};

export const adminSku: Group = {
  name: 'sku',
  summary: 'Create, change and retire SKUs',
  commands: [
    command({
      name: 'list',
      summary: 'List SKUs with what keeps them from being launched',
      flags: { ...pageFlags, ...retiredFlags },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminSkuList({ query: { ...query, include_retired: flags.retired } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'SKU', value: ({ name }) => name },
          { header: 'GPU', value: ({ gpu_model }) => gpu_model, shrink: 'cut' },
          { header: 'GPUS', value: ({ allowed_gpu_counts }) => allowed_gpu_counts.join(',') },
          { header: 'PER GPU HOUR', value: ({ gpu_hourly_price }) => priceOf(gpu_hourly_price), align: 'right' },
          { header: 'ENABLED', value: launchable, shrink: 'wrap' },
          { header: 'SHAPE', value: ({ capacity_shape }) => capacity_shape, optional: true },
        ]);
      },
    }),
    command({
      name: 'get',
      summary: 'Show a SKU with its VM profiles',
      args: { sku: 'Name' },
      run: async (cli, { args }) => {
        const params = { sku_name: args.sku };
        showSku(cli, await (await cli.client()).adminSkuGet({ params }, { signal: cli.signal }));
      },
    }),
    command({
      name: 'create',
      summary: 'Create a SKU, or bring a retired one back',
      args: { sku: 'Name, such as h200-sxm-slice' },
      flags: {
        'display-name': required(text('Display name')),
        vendor: required(text('Vendor of the GPU')),
        'gpu-model': required(text('GPU model, as discovery reports it')),
        'gpu-ids': text(GPU_IDS, 'list'),
        shape: required(choice('Capacity shape', CAPACITY_SHAPES)),
        'gpus-per-node': required(integer('GPUs of a node')),
        'gpu-counts': required(text('GPU counts that a launch may request, like 1,2,4,8', 'list')),
        ...switchFlags,
        ...keyFlags,
      },
      run: async (cli, { args, flags }) => {
        const body = {
          name: args.sku,
          display_name: flags.displayName,
          vendor: flags.vendor,
          gpu_model: flags.gpuModel,
          gpu_ids: flags.gpuIds === undefined ? undefined : idsOf(flags.gpuIds),
          capacity_shape: flags.shape,
          gpus_per_node: flags.gpusPerNode,
          allowed_gpu_counts: countsOf(flags.gpuCounts),
          enabled: switched(flags),
          disabled_reason: flags.reason,
        };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminSkuCreate', { body }, options);
        cli.out.done(sentence(response.data), response);
        if (!cli.out.json && response.data.gpu_hourly_price === null)
          cli.out.say(
            `Set a price: gpuaas admin price create ${response.data.name} --gpu-hourly-price-minor <n> --currency USD`,
          );
      },
    }),
    command({
      name: 'update',
      summary: 'Change a SKU, or enable or disable it',
      args: { sku: 'Name' },
      flags: {
        'display-name': text('Display name'),
        'gpu-ids': text(`${GPU_IDS}; '' for none`, 'list'),
        'gpu-counts': text('GPU counts that a launch may request, like 1,2,4,8', 'list'),
        ...switchFlags,
        ...ifMatchFlags,
      },
      run: async (cli, { args, flags }) => {
        const enabled = switched(flags);
        assertChange(flags, ['enable', 'disable', 'display-name', 'gpu-ids', 'gpu-counts']);
        const [client, params] = [await cli.client(), { sku_name: args.sku }];
        const ifMatch = flags.ifMatch ?? (await client.adminSkuGet({ params }, { signal: cli.signal })).version;
        const body = {
          display_name: flags.displayName,
          gpu_ids: flags.gpuIds === undefined ? undefined : idsOf(flags.gpuIds),
          allowed_gpu_counts: flags.gpuCounts === undefined ? undefined : countsOf(flags.gpuCounts),
          enabled,
          disabled_reason: flags.reason,
        };
        const response = await client.call('adminSkuUpdate', { params, body }, { ifMatch, signal: cli.signal });
        cli.out.done(sentence(response.data), response);
      },
    }),
    command({
      name: 'retire',
      summary: 'Retire a SKU without allocations',
      args: { sku: 'Name' },
      flags: { reason, ...yesFlags, ...keyFlags },
      run: async (cli, { args, flags }) => {
        await cli.confirm(
          `Retire SKU ${args.sku}? Launches of it end, and with it end its VM profiles and prices.`,
          flags.yes,
        );
        const request = { params: { sku_name: args.sku }, body: { reason: flags.reason } };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminSkuRetire', request, options);
        cli.out.done(
          `SKU ${response.data.name} is retired. Its VM profiles and prices ended; a site file brings all back.`,
          response,
        );
      },
    }),
  ],
};
