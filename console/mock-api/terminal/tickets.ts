/** Issued and unused tickets: how a session finds its mock platform. */
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

/** Valid once, and for 30 seconds. */
export const takeTicket = (ticket: string): Offer | undefined => {
  const offer = offers.get(ticket);
  offers.delete(ticket);
  return offer !== undefined && offer.session.ticket_expires_at > offer.world.now() ? offer : undefined;
};
