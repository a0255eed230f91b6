/** An agent polls every few seconds. Without a poll for this long its node is offline: nothing new is placed on it. */
export const OFFLINE_AFTER_S = 25;
