import { command, type Group, integer, required, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { UsageError } from '../exit.ts';
import { anyOrganizationId } from '../find.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags } from '../flags.ts';
import { capacityHistory } from './admin-capacity-history.ts';

export const adminHold: Group = {
  name: 'hold',
  summary: 'Hold nodes for bare metal',
  commands: [
    command({
      name: 'create',
      summary: 'Hold a number of free nodes; the scheduler picks them',
      flags: {
        region: required(text('Region', 'name')),
        'gpu-model': required(text('GPU model, like "H200 SXM"', 'model')),
        nodes: required(integer('Number of nodes')),
        reason: required(text('Reason, recorded in the audit log')),
        ...keyFlags,
      },
      run: async (cli, { flags }) => {
        const { region, gpuModel, nodes, reason } = flags;
        const body = { region_name: region, gpu_model: gpuModel, node_count: nodes, reason };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminHoldCreate', { body }, options);
        const { held_node_ids } = response.data;
        const count = held_node_ids.length === 1 ? '1 node' : `${held_node_ids.length} nodes`;
        cli.out.done(`Holding ${count} for bare metal.`, response);
        if (!cli.out.json) for (const id of held_node_ids) cli.out.print(id);
      },
    }),
  ],
};

export const adminCapacity: Group = {
  name: 'capacity',
  summary: 'Show capacity of all regions',
  commands: [
    command({
      name: 'list',
      summary: 'List GPUs as delivered, healthy, active, reserved, free, unapproved and blocked',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminCapacityList({ query }, { signal: cli.signal });
        const found = await collect(flags, read);
        cli.out.list(found, [
          { header: 'REGION', value: ({ region_name }) => region_name },
          { header: 'GPU', value: ({ gpu_model }) => gpu_model, shrink: 'cut' },
          { header: 'NODES', value: ({ nodes }) => nodes, align: 'right', optional: true },
          { header: 'DELIVERED', value: ({ delivered_gpus }) => delivered_gpus, align: 'right' },
          { header: 'HEALTHY', value: ({ healthy_gpus }) => healthy_gpus, align: 'right', optional: true },
          { header: 'ACTIVE', value: ({ active_gpus }) => active_gpus, align: 'right' },
          { header: 'RESERVED', value: ({ reserved_gpus }) => reserved_gpus, align: 'right' },
          { header: 'FREE', value: ({ free_gpus }) => free_gpus, align: 'right' },
          { header: 'UNAPPROVED', value: ({ unapproved_gpus }) => unapproved_gpus, align: 'right' },
          { header: 'BLOCKED', value: ({ blocked_gpus }) => blocked_gpus, align: 'right' },
          { header: 'EMPTY NODES', value: ({ empty_nodes }) => empty_nodes, align: 'right', optional: true },
        ]);
        if (cli.out.json) return;
        for (const { region_name, gpu_model, fragmentation } of found.items)
          cli.out.say(`${region_name} ${gpu_model}: ${fragmentation}`);
        const skus = found.items.flatMap(({ region_name, skus: own }) => own.map((sku) => ({ region_name, ...sku })));
        if (skus.length === 0) return;
        cli.out.print('');
        cli.out.table(skus, [
          { header: 'SKU', value: ({ sku_name }) => sku_name },
          { header: 'DELIVERED', value: ({ delivered_gpus }) => delivered_gpus, align: 'right' },
          { header: 'HEALTHY', value: ({ healthy_gpus }) => healthy_gpus, align: 'right', optional: true },
          { header: 'ACTIVE', value: ({ active_gpus }) => active_gpus, align: 'right' },
          { header: 'RESERVED', value: ({ reserved_gpus }) => reserved_gpus, align: 'right' },
          { header: 'FREE', value: ({ free_gpus }) => free_gpus, align: 'right' },
          { header: 'UNAPPROVED', value: ({ unapproved_gpus }) => unapproved_gpus, align: 'right' },
          { header: 'BLOCKED', value: ({ blocked_gpus }) => blocked_gpus, align: 'right' },
          { header: 'REGION', value: ({ region_name }) => region_name, optional: true },
        ]);
      },
    }),
    capacityHistory,
  ],
};

/** The organization's own limit comes first in its list. A limit that was never set has no row and version 1. */
const quotaVersion = async (cli: Cli, organization_id: string, project_id: string | undefined): Promise<number> => {
  const query = { organization_id, project_id, limit: 1 };
  const [found] = (await (await cli.client()).adminQuotaList({ query }, { signal: cli.signal })).items;
  return found !== undefined && (found.project_id ?? undefined) === project_id ? found.version : 1;
};

export const adminQuota: Group = {
  name: 'quota',
  summary: 'Manage GPU limits of organizations',
  commands: [
    command({
      name: 'list',
      summary: 'List limits and usage',
      flags: { 'in-organization': text('Only this organization, by name or ID', 'name'), ...pageFlags },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const organization_id =
          flags.inOrganization === undefined ? undefined : await anyOrganizationId(cli, flags.inOrganization);
        const read = (page: { limit: number; cursor: string | undefined }) =>
          client.adminQuotaList({ query: { ...page, organization_id } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'ORGANIZATION', value: ({ organization_name }) => organization_name, shrink: 'cut' },
          { header: 'PROJECT', value: ({ project_name }) => project_name ?? 'all', shrink: 'cut' },
          { header: 'USED', value: ({ gpu_used }) => gpu_used, align: 'right' },
          { header: 'LIMIT', value: ({ gpu_limit }) => gpu_limit ?? 'none', align: 'right' },
          { header: 'PROJECT ID', value: ({ project_id }) => project_id, optional: true },
          { header: 'ORGANIZATION ID', value: ({ organization_id }) => organization_id, optional: true },
        ]);
      },
    }),
    command({
      name: 'set',
      summary: 'Set the GPU limit of an organization or of one of its projects',
      args: { organization: 'Name or ID' },
      flags: {
        gpus: integer('Maximum number of GPUs'),
        unlimited: toggle('No limit at this level'),
        'in-project': text('The limit of this project only', 'id'),
        ...ifMatchFlags,
      },
      examples: ['gpuaas admin quota set acme --gpus 64'],
      run: async (cli, { args, flags }) => {
        if ((flags.gpus === undefined) === (flags.unlimited !== true))
          throw new UsageError('Specify a limit.', 'Add --gpus or --unlimited.');
        const organization_id = await anyOrganizationId(cli, args.organization);
        const body = { organization_id, project_id: flags.inProject, gpu_limit: flags.gpus ?? null };
        const client = await cli.client();
        const ifMatch = flags.ifMatch ?? (await quotaVersion(cli, organization_id, flags.inProject));
        const response = await client.call('adminQuotaPut', { body }, { ifMatch, signal: cli.signal });
        const { project_id, gpu_limit, gpu_used } = response.data;
        const limit = gpu_limit === null ? 'no GPU limit' : `a limit of ${gpu_limit} GPUs`;
        cli.out.done(`${project_id ?? response.data.organization_id} has ${limit}; ${gpu_used} are used.`, response);
      },
    }),
  ],
};
