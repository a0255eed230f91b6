/** Region and image. Unavailable ones are shown with the reason. */
import { DRIVER_STRATEGY_LABELS } from '@gpuaas/sdk';
import { bytes } from '../../format/size.ts';
import { Loading } from '../../ui/loading.tsx';
import { Section } from '../../ui/page.tsx';
import { ChoiceCards } from './choice-cards.tsx';
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
              <span className="mono">{region.name}</span>
              <br />
              {region.enabled && freeIn(region.name)}
            </>
          ),
          disabledReason: region.enabled ? null : (region.disabled_reason ?? 'Disabled.'),
        }))}
        onChange={(region) => update({ region })}
      />
    </Section>
  );
};

const whyRetired = ({ enabled, versions }: OsImage): string | null =>
  enabled ? null : `Retired. ${versions[0]?.retired_reason ?? ''}`.trim();

export const ImageField = ({ form, catalog, update, isLoading }: FieldProps & Readonly<{ isLoading: boolean }>) => (
  <Section title="Image">
    {form.sku?.capacity_shape === 'baremetal' ? (
      <span className="muted">
        Bare metal keeps the operating system of the node. Your SSH keys get access. Images apply to slices only.
      </span>
    ) : catalog.images.length === 0 ? (
      isLoading ? (
        <Loading rows={2} label="Loading images" />
      ) : (
        <span>No image is available for this SKU. Operators manage images with gpuaas admin image.</span>
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
              {DRIVER_STRATEGY_LABELS[image.driver_strategy]}, {bytes(image.size_bytes)}.{' '}
              <span className="mono">{image.name}</span>
            </>
          ),
          disabledReason: whyRetired(image),
        }))}
        onChange={(image) => update({ image })}
      />
    )}
  </Section>
);
