/** Sudden events of a host: a reboot, a lost binding, a Fabric Manager restart, a guest that dies. */
import type { StateFault } from './fault.ts';
import { uuidOf } from './identity.ts';
import type { Profile } from './profile-shape.ts';
import { isMeant, type SimSlot } from './slot.ts';
import type { State } from './state.ts';

type Place = Readonly<{ name: string; now: () => Date; slots: readonly SimSlot[]; profile: Profile }>;

/** Guests end, bindings made since boot are lost, Fabric Manager has no active partition, the log is empty. */
export const boot = ({ name, now }: Pick<Place, 'name' | 'now'>, state: State): void => {
  const count = state.boot.count + 1;
  state.is_on = true;
  state.boot = { id: uuidOf(name, 'boot', count), at: now().toISOString(), count };
  state.drivers = {};
  state.active_partitions = [];
  state.log = [];
  for (const domain of state.domains) {
    Object.assign(domain, { state: 'shut_off', started_at: null, guest: null });
    delete domain.ended_by;
  }
  for (const user of Object.values(state.users)) user.sessions = 0;
};

export const applyEvent = (place: Place, state: State, rule: StateFault): void => {
  if (rule.state === 'rebooted') boot(place, state);
  if (rule.state === 'fabric_manager_restarted') state.active_partitions = [];
  if (rule.state === 'driver_binding_lost') {
    for (const address of Object.keys(state.drivers))
      if (isMeant(place, rule, [address])) delete state.drivers[address];
  }
  if (rule.state === 'guest_crashed') {
    for (const domain of state.domains) {
      const names = domain.plan?.slots.flatMap((slot) => [slot.gpu_pci_address, slot.nvme_serial]) ?? [];
      if (domain.state === 'running' && isMeant(place, rule, names)) {
        Object.assign(domain, { state: 'crashed', started_at: null, guest: null });
      }
    }
  }
};
