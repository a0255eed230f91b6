/** The health of a node and its slots as reported by an agent or another source. Behavior follows classifications. */
import Type from 'typebox';
import { Closed, HostTime, Nullable, StringEnum } from '../common.ts';

export const TENANT_MESSAGE_MAX = 200;
export const CLASSIFICATIONS = ['prevent_allocations', 'prevent_host_changes', 'suppress_alert'] as const;

export const HealthAlert = Closed({
  id: Type.String({ pattern: '^[a-z0-9_.-]{1,64}$', description: 'Stable code, e.g. gpu_off_the_bus.' }),
  /** `node`, or a GPU or disk by its identity: a PCI address or a serial. */
  target: Type.String({ minLength: 1, maxLength: 128 }),
  since: HostTime('When it was first seen.'),
  message: Type.String({ maxLength: 500, description: 'For operators.' }),
  tenant_message: Nullable(
    Type.String({
      maxLength: TENANT_MESSAGE_MAX,
      description:
        'Shown to the tenants it affects as a notice; must not name the host or a device. Null for no notice.',
    }),
  ),
  classifications: Type.Array(StringEnum(CLASSIFICATIONS), { maxItems: 8 }),
});

export const HealthReport = Closed({
  source: Type.String({ pattern: '^[a-z0-9_.-]{1,64}$' }),
  observed_at: HostTime('When the agent observed it.'),
  successes: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 200, description: 'Checks that passed.' }),
  alerts: Type.Array(HealthAlert, { maxItems: 200 }),
});
