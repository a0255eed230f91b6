/** Where, with which system, and what comes with it. What is not offered yet is in sight, with the reason. */
import { Stack } from '@mantine/core';
import { bytes } from '../../format/size.ts';
import { Loading } from '../../ui/loading.tsx';
import { Section } from '../../ui/page.tsx';
import { type Choice, ChoiceCards } from './choice-cards.tsx';
import type { FieldProps } from './fields.ts';
import type { OsImage } from './types.ts';
import { gpus } from './verdict.ts';

export const RegionField = ({ form, catalog, capacity, update }: FieldProps) => {
  const freeIn = (region: string): string | undefined => {
    const here = capacity.find(({ sku_name, region_name }) => sku_name === form.sku?.name && region_name === region);
    return here && `${gpus(here.available_gpus)} free, largest set ${here.largest_set}.`;
  };
  return (
    <Section title="Region">
      <ChoiceCards
        legend="Region"
        isLegendHidden
        name="region"
        value={form.region?.name ?? ''}
        choices={catalog.regions.map((region) => ({
          value: region.name,
          title: region.display_name,
          detail: (
            <>
              <span className="mono">{region.name}</span> {region.enabled && freeIn(region.name)}
            </>
          ),
          disabledReason: region.enabled ? null : (region.disabled_reason ?? 'Not open yet.'),
        }))}
        onChange={(region) => update({ region })}
      />
    </Section>
  );
};

const DRIVERS: Readonly<Record<OsImage['driver_strategy'], string>> = {
  preinstalled: 'GPU driver included',
  cloud_init: 'GPU driver installed at the first start',
  none: 'no GPU driver',
};

const whyRetired = ({ enabled, versions }: OsImage): string | null =>
  enabled ? null : `Not offered any more. ${versions[0]?.retired_reason ?? ''}`.trim();

export const ImageField = ({ form, catalog, update, isLoading }: FieldProps & Readonly<{ isLoading: boolean }>) => (
  <Section title="Image">
    {form.sku?.capacity_shape === 'baremetal' ? (
      <span className="muted">
        A whole node keeps the system its operator installed; your keys are let in. Images are for slices.
      </span>
    ) : catalog.images.length === 0 ? (
      isLoading ? (
        <Loading rows={2} label="Loading images" />
      ) : (
        <span>No image is offered for this SKU. An operator adds them with gpuaas admin image.</span>
      )
    ) : (
      <ChoiceCards
        legend="Image"
        isLegendHidden
        name="image"
        value={form.image?.name ?? ''}
        choices={catalog.images.map((image) => ({
          value: image.name,
          title: image.display_name,
          detail: (
            <>
              {DRIVERS[image.driver_strategy]}, {bytes(image.size_bytes)}. <span className="mono">{image.name}</span>
            </>
          ),
          disabledReason: whyRetired(image),
        }))}
        onChange={(image) => update({ image })}
      />
    )}
  </Section>
);

const STORAGE: readonly Choice[] = [
  {
    value: 'local',
    title: 'Local NVMe',
    detail: 'A disk beside each GPU. Erased, with a certificate, when you release.',
  },
  {
    value: 'file',
    title: 'Shared file storage',
    disabledReason: 'Not offered yet. Copy what several machines need to each of them.',
  },
  {
    value: 'volume',
    title: 'Persistent volume',
    disabledReason: 'Not offered yet. Copy away what must outlive the allocation.',
  },
];
const NETWORK: readonly Choice[] = [
  {
    value: 'nat',
    title: 'Private, behind NAT',
    detail: 'Reaches the internet; is reached by gpuaas ssh, gpuaas forward and the browser.',
  },
  { value: 'public', title: 'Public address', disabledReason: 'Not offered yet. Forward a port with gpuaas forward.' },
  {
    value: 'project',
    title: 'Project network',
    disabledReason: 'Not offered yet. Allocations of a project do not see each other.',
  },
];

const nothing = (): void => undefined;

export const StorageAndNetwork = () => (
  <Section title="Storage and network">
    <Stack gap="md">
      <ChoiceCards legend="Storage" name="storage" value="local" choices={STORAGE} onChange={nothing} />
      <ChoiceCards legend="Network" name="network" value="nat" choices={NETWORK} onChange={nothing} />
    </Stack>
  </Section>
);
