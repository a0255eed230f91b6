import { CAPACITY_SHAPES, type Money, type Sku } from '@gpuaas/sdk';
import { choice, command, type Group, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { collect, pageFlags } from '../flags.ts';
import { shortTime } from '../table.ts';

/** The number of minor digits comes from the currency; it is never assumed to be two. */
export const price = ({ amount_minor, currency }: Money): string => {
  const digits =
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
  return `${(amount_minor / 10 ** digits).toFixed(digits)} ${currency}`;
};

/** The price of a SKU, which may have none. */
export const priceOf = (amount: Money | null): string => (amount === null ? '-' : price(amount));

const enabledText = ({ enabled, disabled_reason }: { enabled: boolean; disabled_reason: string | null }): string =>
  enabled ? 'yes' : `no: ${disabled_reason ?? 'disabled'}`;

/** A SKU with its VM profiles, as tenants and operators see it. */
export const showSku = (
  cli: Cli,
  found: Pick<Sku, 'vm_profiles' | 'gpu_hourly_price'> &
    Partial<Pick<Sku, 'fabric'>> &
    Readonly<{ blockers?: readonly string[] }>,
): void => {
  const { vm_profiles, gpu_hourly_price, fabric = [], blockers, ...rest } = found;
  const blocked = blockers === undefined ? {} : { blockers: blockers.join(' ') };
  cli.out.item(found, { ...rest, ...blocked, 'price per gpu hour': priceOf(gpu_hourly_price) });
  if (cli.out.json) return;
  if (fabric.length > 0) {
    cli.out.print('');
    cli.out.table(fabric, [
      { header: 'REGION', value: ({ region_name }) => region_name },
      { header: 'FABRIC', value: ({ detail }) => detail, shrink: 'wrap' },
    ]);
  }
  if (vm_profiles.length === 0) return;
  cli.out.print('');
  cli.out.table(vm_profiles, [
    { header: 'VM PROFILE', value: ({ name }) => name },
    { header: 'GPUS', value: ({ gpu_count }) => gpu_count, align: 'right' },
    { header: 'VCPUS', value: ({ vcpu_count }) => vcpu_count, align: 'right' },
    { header: 'MEMORY', value: ({ memory_mib }) => `${memory_mib} MiB`, align: 'right' },
    { header: 'DEFAULT', value: ({ is_default }) => is_default },
  ]);
};

export const sku: Group = {
  name: 'sku',
  summary: 'List SKUs with prices',
  commands: [
    command({
      name: 'list',
      summary: 'List SKUs with their price per GPU hour',
      flags: { ...pageFlags, shape: choice('Only this shape', CAPACITY_SHAPES) },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.skuList({ query: { ...query, capacity_shape: flags.shape } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'SKU', value: ({ name }) => name },
          { header: 'SHAPE', value: ({ capacity_shape }) => capacity_shape },
          { header: 'GPUS', value: ({ allowed_gpu_counts }) => allowed_gpu_counts.join(',') },
          { header: 'PER GPU HOUR', value: ({ gpu_hourly_price }) => priceOf(gpu_hourly_price), align: 'right' },
          { header: 'ENABLED', value: enabledText, shrink: 'wrap' },
          { header: 'GPU', value: ({ gpu_model }) => gpu_model, optional: true },
        ]);
      },
    }),
    command({
      name: 'get',
      summary: 'Show one SKU with its VM profiles',
      args: { sku: 'Name' },
      run: async (cli, { args }) => {
        const found = await (await cli.client()).skuGet({ params: { sku_name: args.sku } }, { signal: cli.signal });
        showSku(cli, found);
      },
    }),
  ],
};

export const region: Group = {
  name: 'region',
  summary: 'List regions',
  commands: [
    command({
      name: 'list',
      summary: 'List regions, with the reason where one is disabled',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.regionList({ query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'REGION', value: ({ name }) => name },
          { header: 'NAME', value: ({ display_name }) => display_name, shrink: 'cut' },
          { header: 'WIPE LEVEL', value: ({ wipe_minimum }) => wipe_minimum },
          { header: 'FABRIC', value: ({ fabric_isolation }) => fabric_isolation },
          { header: 'ENABLED', value: enabledText, shrink: 'wrap' },
        ]);
      },
    }),
  ],
};

export const image: Group = {
  name: 'image',
  summary: 'List operating system images',
  commands: [
    command({
      name: 'list',
      summary: 'Images',
      flags: { ...pageFlags, sku: text('Only images for this SKU', 'name') },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.osImageList({ query: { ...query, sku_name: flags.sku } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'IMAGE', value: ({ name }) => name },
          { header: 'SYSTEM', value: ({ os_family, os_version }) => `${os_family} ${os_version}`, shrink: 'cut' },
          { header: 'DRIVER', value: ({ driver_strategy }) => driver_strategy },
          { header: 'BOOT', value: ({ boot_kind }) => boot_kind, optional: true },
          { header: 'DEFAULT IN', value: ({ default_regions }) => default_regions.join(', '), shrink: 'wrap' },
          { header: 'GIB', value: ({ size_bytes }) => (size_bytes / 2 ** 30).toFixed(1), align: 'right' },
          { header: 'ENABLED', value: ({ enabled }) => enabled },
          { header: 'DIGEST', value: ({ digest }) => digest.slice(0, 19), optional: true },
        ]);
      },
    }),
    command({
      name: 'get',
      summary: 'Show one image',
      args: { image: 'Name' },
      run: async (cli, { args }) => {
        const params = { image_name: args.image };
        const found = await (await cli.client()).osImageGet({ params }, { signal: cli.signal });
        const { versions, ...rest } = found;
        cli.out.item(found, rest);
        if (cli.out.json) return;
        cli.out.print('');
        cli.out.table(versions, [
          { header: 'VERSION', value: ({ digest }) => digest },
          { header: 'REGISTERED', value: ({ registered_at }) => shortTime(registered_at) },
          { header: 'RETIRED', value: ({ retired_at }) => shortTime(retired_at) },
          { header: 'REASON', value: ({ retired_reason }) => retired_reason, shrink: 'wrap', optional: true },
          { header: 'SOURCE', value: ({ source }) => source, shrink: 'wrap', optional: true },
        ]);
      },
    }),
  ],
};
