/** The role `gpuaas-outbox-relay`: publishes outbox events to NATS in commit order, or marks them readable without it. */
import { createMemoryStream } from '../ports/events/memory.ts';
import { createNatsPublisher } from '../ports/events/nats.ts';
import { relayOutbox } from '../reconcilers/relay-outbox.ts';
import type { RoleContext } from './role.ts';

const RELAY_INTERVAL_MS = 200;
/** One batch for the commits of this time. */
const RELAY_SPACING_MS = 50;

export const startOutboxRelay = ({ deps, hub, startLoop, shutdown }: RoleContext): void => {
  const { database, config } = deps;
  const publisher =
    config.nats_url === null
      ? createMemoryStream({ events_max: 0 }).connect()
      : createNatsPublisher({ url: config.nats_url });
  shutdown.add('nats', () => publisher.close());
  startLoop({
    name: 'relay-outbox',
    run: (signal) => relayOutbox({ database, publisher, hub }, signal),
    intervalMs: RELAY_INTERVAL_MS,
    hub,
    spacingMs: RELAY_SPACING_MS,
  });
};
