import type { Capacity } from '@gpuaas/sdk';
import { command, type Group, text } from '../command.ts';
import { allocationId } from '../find.ts';
import { collect, pageFlags } from '../flags.ts';
import { shortDuration, shortTime } from '../table.ts';
import { price } from './catalog.ts';
import { quotaRequestCommands } from './quota-request.ts';

/** `+12 by 11-15 10:45Z`: GPUs that become free, without a promise that a launch gets them. */
export const expectedText = ({ gpus, at }: NonNullable<Capacity['expected']>): string =>
  `+${gpus} by ${shortTime(at).slice('2026-'.length)}`;

export const capacity: Group = {
  name: 'capacity',
  summary: 'Show capacity that is free now, and when more is expected',
  commands: [
    command({
      name: 'list',
      summary: 'List free GPUs per region and SKU, the largest set on one node, and when more are expected',
      scope: 'project',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const [client, project_id] = [await cli.client(), await cli.project()];
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.capacityList({ params: { project_id }, query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'REGION', value: ({ region_name }) => region_name },
          { header: 'SKU', value: ({ sku_name }) => sku_name },
          { header: 'SHAPE', value: ({ capacity_shape }) => capacity_shape, optional: true },
          { header: 'FREE GPUS', value: ({ available_gpus }) => available_gpus, align: 'right' },
          { header: 'LARGEST SET', value: ({ largest_set }) => largest_set, align: 'right' },
          { header: 'EXPECTED', value: ({ expected }) => (expected === null ? '–' : expectedText(expected)) },
          { header: 'COUNTED', value: ({ counted_at }) => shortTime(counted_at), optional: true },
        ]);
      },
    }),
  ],
};

export const quota: Group = {
  name: 'quota',
  summary: 'Show GPU limits and request larger ones',
  commands: [
    command({
      name: 'get',
      summary: 'Show limits of the project and its organization',
      scope: 'project',
      run: async (cli) => {
        const [client, project_id] = [await cli.client(), await cli.project()];
        const found = await client.quotaGet({ params: { project_id } }, { signal: cli.signal });
        if (cli.out.json) return cli.out.item(found);
        const rows = [
          { level: 'project', ...found.project },
          { level: 'organization', ...found.organization },
        ];
        cli.out.table(rows, [
          { header: 'LEVEL', value: ({ level }) => level },
          {
            header: 'ID',
            value: ({ level, project_id: project, organization_id }) =>
              level === 'project' ? project : organization_id,
          },
          { header: 'GPUS USED', value: ({ gpu_used }) => gpu_used, align: 'right' },
          { header: 'LIMIT', value: ({ gpu_limit }) => gpu_limit ?? 'none', align: 'right' },
        ]);
        const left = found.gpus_remaining;
        cli.out.say(left === null ? 'No limit.' : `${left} more ${left === 1 ? 'GPU' : 'GPUs'} can be launched.`);
      },
    }),
    ...quotaRequestCommands,
  ],
};

export const usage: Group = {
  name: 'usage',
  summary: 'Show charged time and cost',
  commands: [
    command({
      name: 'list',
      summary: 'List charged time per allocation, newest first',
      scope: 'project',
      flags: { allocation: text('Only this allocation, by name or ID', 'name'), ...pageFlags },
      run: async (cli, { flags }) => {
        const [client, project_id] = [await cli.client(), await cli.project()];
        const allocation_id =
          flags.allocation === undefined ? undefined : await allocationId(cli, project_id, flags.allocation);
        const read = (page: { limit: number; cursor: string | undefined }) =>
          client.usageList({ params: { project_id }, query: { ...page, allocation_id } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'ALLOCATION', value: (record) => record.allocation_id },
          { header: 'GPUS', value: ({ gpu_count }) => gpu_count, align: 'right' },
          { header: 'COST', value: ({ cost }) => price(cost), align: 'right' },
          { header: 'FROM', value: ({ started_at }) => shortTime(started_at) },
          {
            header: 'FOR',
            value: ({ started_at, ended_at }) =>
              ended_at === null ? 'running' : shortDuration(Date.parse(ended_at) - Date.parse(started_at)),
          },
          { header: 'SKU', value: ({ sku_name }) => sku_name, optional: true },
          { header: 'PER GPU HOUR', value: ({ gpu_hourly_price }) => price(gpu_hourly_price), optional: true },
        ]);
      },
    }),
    command({
      name: 'summary',
      summary: 'Show the cost of this month and the current cost per hour',
      scope: 'project',
      run: async (cli) => {
        const [client, project_id] = [await cli.client(), await cli.project()];
        const found = await client.usageSummaryGet({ params: { project_id } }, { signal: cli.signal });
        const { since, costs, costs_per_hour, running_allocations, running_gpus } = found;
        cli.out.item(found, {
          since: shortTime(since),
          cost: costs.map(price).join(' + '),
          'cost per hour': costs_per_hour.map(price).join(' + '),
          'running allocations': running_allocations,
          'running GPUs': running_gpus,
        });
      },
    }),
  ],
};
