/**
 * How an alert is built. The operator's message may name devices; the tenant's message never does. It states the effect
 * and what the tenant can do, and is null when there is nothing to state.
 */
import {
  type CLASSIFICATIONS,
  type Fact,
  type HealthAlert,
  type HostFacts,
  TENANT_MESSAGE_MAX,
} from '@gpuaas/contract/node';

export type Classification = (typeof CLASSIFICATIONS)[number];

/** The disks that allocations have on this host, by its own records. */
export type Held = Readonly<{
  disk_serials: readonly string[];
  /** Bare metal: the host with all its disks. */
  is_whole: boolean;
}>;

/** The parts of a host's facts that its health is read from. */
export type HealthFacts = Pick<HostFacts, 'observed_at' | 'system' | 'pci' | 'gpus' | 'disks' | 'fabric'> &
  Readonly<{
    /** Those configured by the site; empty: recognized by class and vendor. */
    accelerators: readonly string[];
    held: Fact<Held>;
  }>;

/** The devices at the last discovery: those that are absent now are missing. */
export type Expectation = Readonly<{
  gpu_addresses: readonly string[];
  disk_serials: readonly string[];
  /** Disks of slots that discovery found unused. */
  unused_disks: readonly string[];
  /** Disks whose use began under an allocation and has not ended since. */
  tenant_disks: readonly string[];
  boot_id: string | null;
  /** The boot ID before the last change, and when the change was first seen; null if there was none. */
  boot_changed: Readonly<{ from: string; seen_at: string }> | null;
  /** The start time of each alert, by `id target`. */
  since: Readonly<Record<string, string>>;
}>;

export type Found = Omit<HealthAlert, 'since'> & Readonly<{ at?: Date | null }>;
export type Checked = Readonly<{ name: string; found: readonly Found[] }>;

export const PREVENT: readonly Classification[] = ['prevent_allocations'];
export const SUPPRESSED: readonly Classification[] = ['suppress_alert'];
export const SHOWN: readonly Classification[] = [];

const MESSAGE_MAX = 500;

export const alertKey = (alert: Readonly<{ id: string; target: string }>): string => `${alert.id} ${alert.target}`;

export const toAlert = (found: Found, expectation: Expectation, observedAt: string): HealthAlert => ({
  id: found.id,
  target: found.target,
  since: expectation.since[alertKey(found)] ?? found.at?.toISOString() ?? observedAt,
  message: found.message.slice(0, MESSAGE_MAX),
  tenant_message: found.tenant_message?.slice(0, TENANT_MESSAGE_MAX) ?? null,
  classifications: [...found.classifications],
});
