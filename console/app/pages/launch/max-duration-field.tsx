/** Maximum duration: unlimited, or a time after which the allocation is released automatically. */
import { Group, NativeSelect, NumberInput, Stack } from '@mantine/core';
import { useState } from 'react';
import { exact, span } from '../../format/time.ts';
import { Section } from '../../ui/page.tsx';
import { useNow } from '../../ui/time.tsx';
import { ChoiceCards } from './choice-cards.tsx';
import type { FieldProps } from './fields.ts';
import { maxDurationOf } from './form.ts';

const PRESETS = [
  ['', 'No limit'],
  ['4', '4 hours'],
  ['12', '12 hours'],
  ['24', '1 day'],
  ['72', '3 days'],
  ['168', '7 days'],
] as const;
const OTHER = 'other';
const HOURS_PER_DAY = 24;

const ReleaseSentence = ({ seconds, isProtected }: Readonly<{ seconds: number | null; isProtected: boolean }>) => {
  const now = useNow();
  if (seconds === null) return <span className="muted">The allocation runs and is charged until released.</span>;
  const at = new Date(now + seconds * 1_000).toISOString();
  return (
    <span className="muted">
      Released automatically {span(seconds * 1_000)} after activation; if activated now, at{' '}
      <time className="tabular">{exact(at)}</time>. The disks are wiped then.
      {isProtected && ' Protected: it keeps running and is charged until unprotected.'}
    </span>
  );
};

const CustomMaxDuration = ({ form, problems, update }: Pick<FieldProps, 'form' | 'problems' | 'update'>) => {
  const [unit, setUnit] = useState<'hours' | 'days'>('hours');
  const factor = unit === 'days' ? HOURS_PER_DAY : 1;
  const amount = form.hours === '' ? '' : Number((Number(form.hours) / factor).toFixed(4));
  const set = (value: number | string, times: number): void =>
    update({ hours: value === '' ? '' : String(Number(value) * times) });
  return (
    <Group align="flex-start" gap="xs">
      <NumberInput
        label="Maximum duration"
        w={140}
        min={0}
        value={amount}
        hideControls
        error={problems.hours}
        onChange={(value) => set(value, factor)}
      />
      <NativeSelect
        label="Unit"
        data={['hours', 'days']}
        value={unit}
        onChange={(event) => {
          const next = event.currentTarget.value === 'days' ? 'days' : 'hours';
          setUnit(next);
          if (amount !== '') set(amount, next === 'days' ? HOURS_PER_DAY : 1);
        }}
      />
    </Group>
  );
};

export const MaxDurationField = (props: FieldProps) => {
  const { form, problems, update } = props;
  const isPreset = PRESETS.some(([hours]) => hours === form.hours);
  const [isOther, setOther] = useState(!isPreset);
  const isCustom = isOther || !isPreset;
  return (
    <Section title="Maximum duration">
      <Stack gap="sm">
        <ChoiceCards
          legend="Maximum duration"
          isLegendHidden
          name="max-duration"
          isCompact
          value={isCustom ? OTHER : form.hours}
          choices={[...PRESETS.map(([value, title]) => ({ value, title })), { value: OTHER, title: 'Custom' }]}
          onChange={(value) => {
            setOther(value === OTHER);
            if (value !== OTHER) update({ hours: value });
          }}
        />
        {isCustom && <CustomMaxDuration {...props} />}
        <div style={{ minHeight: 40 }}>
          <ReleaseSentence
            seconds={problems.hours === undefined ? maxDurationOf(form.hours) : null}
            isProtected={form.isProtected}
          />
        </div>
      </Stack>
    </Section>
  );
};
