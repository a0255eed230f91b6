/**
 * The meaning of health reports. Behavior follows the classifications of alerts, never their names:
 * `prevent_allocations` makes the target unschedulable, `prevent_host_changes` blocks destructive operator actions,
 * `suppress_alert` suppresses paging. An alert about a GPU, disk or function of a slot applies to that slot; any other
 * applies to the whole node. A node without a report is unknown, and unknown is not schedulable.
 */
import type { CLASSIFICATIONS, HealthAlert, HealthReport } from '@gpuaas/contract/node';

export type Classification = (typeof CLASSIFICATIONS)[number];
export type Health = 'ok' | 'unhealthy' | 'unknown';

export type HealthOverride = Readonly<{
  source: string;
  mode: 'merge' | 'replace';
  alerts: readonly HealthAlert[];
  muted_alert_ids: readonly string[];
  expires_at: string | null;
}>;

export type SlotTargets = Readonly<{
  id: string;
  gpu_pci_address: string | null;
  nvme_serial: string | null;
  fabric_vf_pci_address: string | null;
}>;

export type Verdict = Readonly<{
  health: Health;
  prevents: readonly Classification[];
  /** Effective alerts, after overrides. */
  alerts: readonly HealthAlert[];
  slots: ReadonlyArray<Readonly<{ id: string; health: Health; alerts: readonly HealthAlert[] }>>;
}>;

const alertsOf = (
  report: Pick<HealthReport, 'source' | 'alerts'>,
  override: HealthOverride | undefined,
): readonly HealthAlert[] => {
  if (override === undefined) return report.alerts;
  if (override.mode === 'replace') return override.alerts;
  return [...report.alerts.filter(({ id }) => !override.muted_alert_ids.includes(id)), ...override.alerts];
};

const prevents = (alerts: readonly HealthAlert[], what: Classification): boolean =>
  alerts.some(({ classifications }) => classifications.includes(what));

export const evaluateHealth = (
  given: Readonly<{
    reports: readonly Pick<HealthReport, 'source' | 'alerts'>[];
    overrides: readonly HealthOverride[];
    slots: readonly SlotTargets[];
    /** Parts of the host outside every slot that are not allocated: their alerts are shown but have no effect. */
    unallocated: readonly string[];
    now: Date;
  }>,
): Verdict => {
  const live = given.overrides.filter(
    ({ expires_at }) => expires_at === null || Date.parse(expires_at) > given.now.getTime(),
  );
  const silent = live
    .filter(({ source }) => !given.reports.some((report) => report.source === source))
    .map(({ source }) => ({ source, alerts: [] }));
  const alerts = [...given.reports, ...silent].flatMap((report) =>
    alertsOf(
      report,
      live.find(({ source }) => source === report.source),
    ),
  );
  const isKnown = given.reports.length > 0 || live.length > 0;
  const healthOf = (own: readonly HealthAlert[]): Health =>
    prevents(own, 'prevent_allocations') ? 'unhealthy' : isKnown ? 'ok' : 'unknown';
  const slots = given.slots.map((slot) => {
    const targets = [slot.gpu_pci_address, slot.nvme_serial, slot.fabric_vf_pci_address];
    const own = alerts.filter(({ target }) => targets.includes(target));
    return { id: slot.id, health: healthOf(own), alerts: own };
  });
  const ofSlots = new Set(slots.flatMap((slot) => slot.alerts));
  const ofNode = alerts.filter((alert) => !ofSlots.has(alert) && !given.unallocated.includes(alert.target));
  return {
    health: healthOf(ofNode),
    prevents: (['prevent_allocations', 'prevent_host_changes', 'suppress_alert'] as const).filter((what) =>
      prevents(ofNode, what),
    ),
    alerts,
    slots,
  };
};

/** The refusal of host changes while an alert has `prevent_host_changes`. */
export const HOST_CHANGES_PREVENTED = 'An alert on this node blocks host changes. Check its health first.';

/** More hosts than this becoming unhealthy within the window are treated as one false signal. */
export const BREAKER_WINDOW_MIN = 10;
const BREAKER_NODES_MIN = 4;
const BREAKER_SHARE = 0.1;

export const tripsBreaker = (fellIll: number, nodes: number): boolean =>
  fellIll > Math.max(BREAKER_NODES_MIN, nodes * BREAKER_SHARE);
