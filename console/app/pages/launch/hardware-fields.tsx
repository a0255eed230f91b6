/** Hardware: GPU model, bare metal or slice, GPU count, CPU and memory. */
import { Stack } from '@mantine/core';
import { bytes, count } from '../../format/size.ts';
import { Section } from '../../ui/page.tsx';
import { ChoiceCards } from './choice-cards.tsx';
import type { FieldProps } from './fields.ts';
import { profilesOf, type VmProfile } from './form.ts';
import type { Sku } from './types.ts';
import { gpuHourText, gpus, multipleOf, SHAPE_WORDS } from './verdict.ts';

/** Always shown, so that unavailable counts are visible. */
const COMMON_COUNTS = [1, 2, 4, 8];
const MIB = 1_048_576;

const SHAPE_TEXT: Readonly<Record<Sku['capacity_shape'], string>> = {
  gpu_slice: 'A VM with dedicated GPUs and one disk per GPU. Ready in minutes.',
  baremetal: 'A dedicated node without a hypervisor.',
};

export const profileText = ({ vcpu_count, memory_mib }: VmProfile): string =>
  `${count(vcpu_count, 'vCPU')}, ${bytes(memory_mib * MIB)} memory`;

export const HardwareFields = ({ form, catalog, capacity, update }: FieldProps) => {
  const { sku } = form;
  if (sku === null) return null;
  const models = [...new Set(catalog.skus.map(({ gpu_model }) => gpu_model))];
  const shapes = catalog.skus.filter(({ gpu_model }) => gpu_model === sku.gpu_model);
  const here = capacity.find(({ sku_name, region_name }) => sku_name === sku.name && region_name === form.region?.name);
  const counts = [...new Set([...COMMON_COUNTS, ...sku.allowed_gpu_counts])].sort((a, b) => a - b);
  const profiles = profilesOf(sku, form.gpuCount);
  const choose = (chosen: Sku | undefined): void =>
    update({ shape: undefined, sku: chosen?.name, profile: undefined, image: undefined });
  return (
    <Section title={models.length === 1 ? `${sku.vendor} ${sku.gpu_model}` : 'GPU'}>
      <Stack gap="md">
        {models.length > 1 && (
          <ChoiceCards
            legend="Model"
            name="model"
            isCompact
            value={sku.gpu_model}
            choices={models.map((model) => ({ value: model, title: model }))}
            onChange={(model) => {
              const same = catalog.skus.filter(({ gpu_model }) => gpu_model === model);
              choose(same.find(({ enabled }) => enabled) ?? same[0]);
            }}
          />
        )}
        <ChoiceCards
          legend="Shape"
          name="sku"
          value={sku.name}
          choices={shapes.map((shape) => ({
            value: shape.name,
            title: SHAPE_WORDS[shape.capacity_shape],
            detail: (
              <>
                {SHAPE_TEXT[shape.capacity_shape]} {gpuHourText(shape)} <span className="mono">{shape.name}</span>
              </>
            ),
            disabledReason: shape.enabled ? null : (shape.disabled_reason ?? 'Disabled.'),
          }))}
          onChange={(name) => choose(shapes.find((shape) => shape.name === name))}
        />
        <ChoiceCards
          legend="GPUs"
          name="gpus"
          isCompact
          value={String(form.gpuCount)}
          choices={counts.map((amount) => ({
            value: String(amount),
            title: String(amount),
            detail: (
              <>
                {multipleOf(sku, amount) ?? '–'}/h
                {here !== undefined && amount > here.largest_set && sku.allowed_gpu_counts.includes(amount) && (
                  <>, none free</>
                )}
              </>
            ),
            disabledReason: sku.allowed_gpu_counts.includes(amount)
              ? null
              : sku.capacity_shape === 'baremetal'
                ? `A node has ${gpus(sku.gpus_per_node)}`
                : `Available with ${sku.allowed_gpu_counts.join(', ')}`,
          }))}
          onChange={(amount) => update({ gpus: amount, profile: undefined })}
        />
        {profiles.length > 1 ? (
          <ChoiceCards
            legend="CPU and memory"
            name="profile"
            value={form.profile?.name ?? ''}
            choices={profiles.map((profile) => ({
              value: profile.name,
              title: profileText(profile),
              detail: profile.is_default ? 'Default.' : <span className="mono">{profile.name}</span>,
            }))}
            onChange={(profile) => update({ profile })}
          />
        ) : (
          <span className="muted">
            {form.profile === null ? 'All CPUs and memory of the node.' : `With ${profileText(form.profile)}.`}
          </span>
        )}
      </Stack>
    </Section>
  );
};
