/** What the commands of the catalog share. */
import { required, text, toggle } from '../command.ts';
import { UsageError } from '../exit.ts';

export const reason = required(text('Reason, recorded in the audit log'));
export const retiredFlags = { retired: toggle('Also retired ones') } as const;

export const switchFlags = {
  enable: toggle('Enable it for tenants'),
  disable: toggle('Disable it for tenants'),
  reason: text('With --disable: reason shown to tenants'),
} as const;

type Switch = { enable: boolean | undefined; disable: boolean | undefined; reason: string | undefined };

/** `true`, `false`, or undefined for no change. */
export const switched = (flags: Switch) => {
  if (flags.enable && flags.disable) throw new UsageError('--enable and --disable cannot be combined.');
  if (flags.reason !== undefined && !flags.disable) throw new UsageError('--reason requires --disable.');
  return flags.enable ? true : flags.disable ? false : undefined;
};

type Availability = { enabled: boolean; disabled_reason: string | null; retired_at: string | null };

export const availability = ({ enabled, disabled_reason, retired_at }: Availability): string => {
  if (retired_at !== null) return 'retired';
  return enabled ? 'yes' : `no: ${disabled_reason ?? 'disabled'}`;
};

/** `1,2,4` as numbers. */
export const countsOf = (given: string): number[] => {
  const parts = given.split(',');
  if (!parts.every((part) => /^\d{1,2}$/.test(part)))
    throw new UsageError(`"${given}" is not a list of GPU counts.`, 'Use a list like 1,2,4,8.');
  return parts.map(Number);
};

export const assertChange = (flags: Readonly<Record<string, unknown>>, names: readonly string[]): void => {
  if (names.every((name) => flags[name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())] === undefined))
    throw new UsageError(
      'Nothing to change.',
      `Add ${names
        .map((name) => `--${name}`)
        .join(', ')
        .replace(/, ([^,]*)$/, ' or $1')}.`,
    );
};
