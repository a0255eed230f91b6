/** Time as an argument. Code that decides by time takes a Clock, so that tests can control it. */
export type Clock = Readonly<{ now(): Date }>;

export const systemClock: Clock = { now: () => new Date() };
