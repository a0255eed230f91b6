/** Storage, network and fabric: the server lists the choices of this launch, and the reason where one is not available. */
import { Stack } from '@mantine/core';
import { Loading } from '../../ui/loading.tsx';
import { Section } from '../../ui/page.tsx';
import { ChoiceCards } from './choice-cards.tsx';
import { chosenOf, type LaunchForm, type LaunchSearch } from './form.ts';
import type { EstimateQuery } from './use-launch.ts';

const PARTS = [
  ['storage', 'Storage'],
  ['network', 'Network'],
] as const;

export const StorageAndNetwork = ({
  form,
  estimate,
  update,
}: Readonly<{ form: LaunchForm; estimate: EstimateQuery; update(patch: LaunchSearch): void }>) => (
  <Section title="Storage and network">
    {estimate.data === undefined ? (
      estimate.error === null ? (
        <Loading rows={4} label="Loading storage and network" />
      ) : (
        <span className="muted">
          The choices are shown when price and capacity are known. A launch gets the defaults.
        </span>
      )
    ) : (
      <Stack gap="md">
        {PARTS.map(([part, legend]) => (
          <ChoiceCards
            key={part}
            legend={legend}
            name={part}
            value={chosenOf(estimate.data[part], form[part]) ?? ''}
            choices={estimate.data[part].map(({ name, label, description, reason }) => ({
              value: name,
              title: label,
              detail: description,
              disabledReason: reason,
            }))}
            onChange={(name) => update({ [part]: name })}
          />
        ))}
        <span className="muted">Fabric: {estimate.data.fabric.detail}</span>
      </Stack>
    )}
  </Section>
);
