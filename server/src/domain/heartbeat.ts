/** An agent polls every few seconds. Without a poll for this long its node is offline: nothing new is placed on it. */
export const OFFLINE_AFTER_S = 25;

export const NO_HEARTBEAT = `The agent sent no heartbeat for ${OFFLINE_AFTER_S} seconds.`;
