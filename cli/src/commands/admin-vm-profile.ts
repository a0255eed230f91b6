import { type AdminVmProfile, type ApiResponse, HUGEPAGES, NUMA_POLICIES } from '@gpuaas/sdk';
import { choice, command, type Group, integer, required, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { assertChange, reason, retiredFlags } from './admin-catalog.ts';

const PAGES = 'Memory page size. auto: the largest huge pages of the host';
const NUMA =
  'NUMA placement. strict: CPUs and memory from the NUMA nodes of the GPUs; preferred: memory also from others; none: any';

const size = {
  vcpus: integer('CPUs of the VM'),
  'memory-mib': integer('Memory of the VM in MiB'),
  hugepages: choice(PAGES, HUGEPAGES),
  numa: choice(NUMA, NUMA_POLICIES),
} as const;

/** `all`, or the number of hosts that can hold the VM; `-` before a discovery measured one. */
const hosts = ({ hosts_checked, hosts_too_small }: AdminVmProfile): string => {
  if (hosts_checked === 0) return '-';
  return hosts_too_small === 0 ? 'all' : `${hosts_checked - hosts_too_small}/${hosts_checked}`;
};

const done = (cli: Cli, response: ApiResponse<AdminVmProfile>): void => {
  const { name, vcpu_count, memory_mib, hugepages, numa_policy, hosts_too_small, hosts_checked, too_small } =
    response.data;
  cli.out.done(
    `VM profile ${name} has ${vcpu_count} vCPUs and ${memory_mib} MiB (huge pages ${hugepages}, NUMA ${numa_policy}).`,
    response,
  );
  if (cli.out.json || hosts_too_small === 0) return;
  cli.out.points(
    `${hosts_too_small} of ${hosts_checked} hosts ${hosts_too_small === 1 ? 'is' : 'are'} too small:`,
    too_small.map(({ node_name, reason: why }) => `${node_name}: ${why}`),
  );
};

export const adminVmProfile: Group = {
  name: 'vm-profile',
  summary: 'Create, change and retire VM profiles of SKUs',
  commands: [
    command({
      name: 'list',
      summary: 'List VM profiles and how many hosts can hold them',
      flags: { ...pageFlags, ...retiredFlags, sku: text('Only profiles of this SKU', 'name') },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminVmProfileList(
            { query: { ...query, include_retired: flags.retired, sku_name: flags.sku } },
            { signal: cli.signal },
          );
        cli.out.list(await collect(flags, read), [
          { header: 'VM PROFILE', value: ({ name }) => name },
          { header: 'SKU', value: ({ sku_name }) => sku_name, shrink: 'cut' },
          { header: 'GPUS', value: ({ gpu_count }) => gpu_count, align: 'right' },
          { header: 'VCPUS', value: ({ vcpu_count }) => vcpu_count, align: 'right' },
          { header: 'MIB', value: ({ memory_mib }) => memory_mib, align: 'right' },
          { header: 'DEFAULT', value: ({ is_default }) => is_default },
          { header: 'HOSTS', value: hosts, align: 'right' },
          { header: 'RETIRED', value: ({ retired_at }) => retired_at !== null, optional: true },
          { header: 'PAGES', value: ({ hugepages }) => hugepages, optional: true },
          { header: 'NUMA', value: ({ numa_policy }) => numa_policy, optional: true },
        ]);
      },
    }),
    command({
      name: 'get',
      summary: 'Show a VM profile with the hosts that are too small for it',
      args: { profile: 'Name' },
      run: async (cli, { args }) => {
        const params = { vm_profile_name: args.profile };
        const found = await (await cli.client()).adminVmProfileGet({ params }, { signal: cli.signal });
        const { too_small, ...rest } = found;
        cli.out.item(found, {
          ...rest,
          too_small: too_small.map(({ node_name, reason: why }) => `${node_name}: ${why}`),
        });
      },
    }),
    command({
      name: 'create',
      summary: 'Create a VM profile, or restore a retired one',
      args: { profile: 'Name, such as h200_1g_24c_64g' },
      flags: {
        sku: required(text('SKU of the profile', 'name')),
        gpus: required(integer('GPU count of the profile')),
        vcpus: required(size.vcpus),
        'memory-mib': required(size['memory-mib']),
        hugepages: choice(`${PAGES} (default auto)`, HUGEPAGES),
        numa: choice(`${NUMA} (default strict)`, NUMA_POLICIES),
        default: toggle('Use it for launches of this GPU count that name no profile'),
        ...keyFlags,
      },
      run: async (cli, { args, flags }) => {
        const body = {
          name: args.profile,
          sku_name: flags.sku,
          gpu_count: flags.gpus,
          vcpu_count: flags.vcpus,
          memory_mib: flags.memoryMib,
          hugepages: flags.hugepages,
          numa_policy: flags.numa,
          is_default: flags.default,
        };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        done(cli, await (await cli.client()).call('adminVmProfileCreate', { body }, options));
      },
    }),
    command({
      name: 'update',
      summary: 'Change the size of a VM profile; running allocations keep theirs',
      args: { profile: 'Name' },
      flags: {
        ...size,
        default: choice('Whether launches that name no profile use it', ['yes', 'no']),
        ...ifMatchFlags,
      },
      run: async (cli, { args, flags }) => {
        assertChange(flags, ['vcpus', 'memory-mib', 'hugepages', 'numa', 'default']);
        const [client, params] = [await cli.client(), { vm_profile_name: args.profile }];
        const ifMatch = flags.ifMatch ?? (await client.adminVmProfileGet({ params }, { signal: cli.signal })).version;
        const body = {
          vcpu_count: flags.vcpus,
          memory_mib: flags.memoryMib,
          hugepages: flags.hugepages,
          numa_policy: flags.numa,
          is_default: flags.default === undefined ? undefined : flags.default === 'yes',
        };
        done(cli, await client.call('adminVmProfileUpdate', { params, body }, { ifMatch, signal: cli.signal }));
      },
    }),
    command({
      name: 'retire',
      summary: 'Retire a VM profile; running allocations keep their size',
      args: { profile: 'Name' },
      flags: { reason, ...yesFlags, ...keyFlags },
      run: async (cli, { args, flags }) => {
        await cli.confirm(`Retire VM profile ${args.profile}? New launches cannot use it.`, flags.yes);
        const request = { params: { vm_profile_name: args.profile }, body: { reason: flags.reason } };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminVmProfileRetire', request, options);
        cli.out.done(`VM profile ${response.data.name} is retired. Create it again to bring it back.`, response);
      },
    }),
  ],
};
