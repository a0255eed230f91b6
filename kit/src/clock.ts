/** Time as an argument. Code that decides by time takes a Clock, so that tests turn its hands. */
export type Clock = Readonly<{ now(): Date }>;

export const systemClock: Clock = { now: () => new Date() };
