/** Tickets that were given and not used yet: how a session finds the world it belongs to. */
import type { Allocation, Session } from '../core/rows.ts';
import type { World } from '../core/world.ts';

export type Offer = Readonly<{
  world: World;
  session: Session;
  allocation: Allocation;
  size: Readonly<{ cols: number; rows: number }>;
}>;

const offers = new Map<string, Offer>();

export const offerTicket = (offer: Offer): void => {
  offers.set(offer.session.ticket, offer);
};

/** Good once, and for half a minute. */
export const takeTicket = (ticket: string): Offer | undefined => {
  const offer = offers.get(ticket);
  offers.delete(ticket);
  return offer !== undefined && offer.session.ticket_expires_at > offer.world.now() ? offer : undefined;
};
