/**
 * Fabric isolation. A region names the provider that keeps tenants apart on its fabric, and a provider is one entry here:
 * what it promises decides whether a fabric function is passed into a VM, and what tenants read. The schema lists the
 * same names.
 */
import Type from 'typebox';
import { Closed } from '../common.ts';

type FabricProvider = Readonly<{
  label: string;
  /**
   * Whether it keeps tenants apart and reads back that it does. Only then the fabric function of a slot is passed into a
   * VM; otherwise it stays bound to its slot on the host.
   */
  isolates: boolean;
  /** Why a launch cannot have the fabric network of its project: no provider connects it yet. */
  refusal: string;
  /** What a tenant gets, as a sentence. */
  slice: string;
  bare_metal: string;
}>;

const PROVIDERS = {
  none: {
    label: 'No isolation: slices have no fabric',
    isolates: false,
    refusal: 'The region does not isolate tenants on its fabric.',
    slice: 'Not available: the region does not isolate tenants on its fabric.',
    bare_metal: 'The cards of the node. The region does not isolate tenants on its fabric.',
  },
} as const satisfies Readonly<Record<string, FabricProvider>>;

export type FabricIsolation = keyof typeof PROVIDERS;
export const FABRIC_PROVIDERS: Readonly<Record<FabricIsolation, FabricProvider>> = PROVIDERS;
export const FABRIC_ISOLATIONS = Object.keys(PROVIDERS) as readonly FabricIsolation[];
export const FABRIC_ISOLATION_LABELS = Object.fromEntries(
  FABRIC_ISOLATIONS.map((name) => [name, PROVIDERS[name].label]),
) as Readonly<Record<FabricIsolation, string>>;

export const fabricOffer = {
  available: Type.Boolean({ description: 'Whether it reaches the fabric.' }),
  detail: Type.String({
    description: 'What it gets, or why it gets nothing, as a sentence.',
    examples: [PROVIDERS.none.slice],
  }),
};

/** What a launch gets of the fabric in its region. */
export const FabricOffer = Closed(fabricOffer);
