import { command, duration, text } from '../command.ts';
import { shortTime } from '../table.ts';

export const capacityHistory = command({
  name: 'history',
  summary: 'Show capacity over time, oldest first; every 5 minutes for 1 day, less often for longer',
  flags: {
    region: text('Only this region', 'name'),
    'gpu-model': text('Only this GPU model, like "H200 SXM"', 'model'),
    since: duration('Time to look back, like 6h or 30d (default 1d, maximum 90d)'),
  },
  examples: ['gpuaas admin capacity history --since 7d', 'gpuaas admin capacity history --json | jq .items'],
  run: async (cli, { flags }) => {
    const since = flags.since === undefined ? undefined : new Date(Date.now() - flags.since).toISOString();
    const query = { region_name: flags.region, gpu_model: flags.gpuModel, since };
    const { items } = await (await cli.client()).adminCapacityHistoryList({ query }, { signal: cli.signal });
    cli.out.list({ items, next_cursor: null }, [
      { header: 'TIME', value: ({ sampled_at }) => shortTime(sampled_at) },
      { header: 'DELIVERED', value: ({ delivered_gpus }) => delivered_gpus, align: 'right' },
      { header: 'HEALTHY', value: ({ healthy_gpus }) => healthy_gpus, align: 'right' },
      { header: 'RESERVED', value: ({ reserved_gpus }) => reserved_gpus, align: 'right' },
      { header: 'ACTIVE', value: ({ active_gpus }) => active_gpus, align: 'right' },
      { header: 'FREE', value: ({ free_gpus }) => free_gpus, align: 'right' },
      { header: 'REGION', value: ({ region_name }) => region_name, optional: true },
      { header: 'GPU', value: ({ gpu_model }) => gpu_model, optional: true },
    ]);
  },
});
