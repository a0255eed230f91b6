/** An agent polls every few seconds. Without a poll for this long its node is offline: nothing new is placed on it. */
export const OFFLINE_AFTER_S = 25;

export const isAgentConnected = (lastSeenAt: string | null, now: string): boolean =>
  lastSeenAt !== null && Date.parse(lastSeenAt) > Date.parse(now) - OFFLINE_AFTER_S * 1000;
