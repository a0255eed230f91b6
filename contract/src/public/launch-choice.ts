/**
 * The choices of a launch beside its hardware. Which of them apply to a launch is the server's rule: an estimate lists
 * all of them, each with the reason where it does not apply, so that no client repeats the rule.
 */
import Type from 'typebox';
import { Closed, Nullable, StringEnum } from '../common.ts';

/** What a tenant finds on the data disks. */
export const STORAGE_KINDS = ['raw', 'formatted'] as const;
/** What the VM of a slice is connected to. */
export const NETWORK_KINDS = ['private_nat'] as const;
/** What a launch is asked for: one that no provider of a region can connect is listed, and refused with the reason. */
export const NETWORK_CHOICES = [...NETWORK_KINDS, 'fabric'] as const;
export type StorageKind = (typeof STORAGE_KINDS)[number];
export type NetworkKind = (typeof NETWORK_KINDS)[number];
export type NetworkChoice = (typeof NETWORK_CHOICES)[number];

/** Where the data disks of a slice are mounted: /data/1, /data/2 and so on. */
export const DATA_DISK_DIRECTORY = '/data';

const choiceOf = <const T extends readonly string[]>(names: T) =>
  Type.Array(
    Closed({
      name: StringEnum(names),
      label: Type.String({ examples: ['Formatted data disks'] }),
      description: Type.String({ description: 'What the tenant gets, as sentences.' }),
      available: Type.Boolean(),
      reason: Nullable(Type.String({ description: 'Why it is not available for this launch, as a sentence.' })),
    }),
    { description: 'All choices in order. The first available one is the default of a launch.' },
  );

export const launchChoices = { storage: choiceOf(STORAGE_KINDS), network: choiceOf(NETWORK_CHOICES) };

export const storageChoice = Type.Optional(
  StringEnum(STORAGE_KINDS, {
    description: `Data disks as blank block devices (raw), or with ext4 and mounted at ${DATA_DISK_DIRECTORY}/1, ${DATA_DISK_DIRECTORY}/2 and so on (formatted). The default is the first choice that the estimate lists as available.`,
  }),
);
export const networkChoice = Type.Optional(
  StringEnum(NETWORK_CHOICES, {
    description: 'Network of a slice. The default is the first choice that the estimate lists as available.',
  }),
);
