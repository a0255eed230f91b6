/** Reports of hosts are dated by their clocks. One dated in the future would hide later ones, so it is refused. */
const REPORT_AHEAD_MAX_MS = 5 * 60_000;

export const FUTURE_TIME = 'differs from the server time by more than 5 minutes';
export const FUTURE_REPORT = `The report time ${FUTURE_TIME}. Correct the clock of the host.`;

export const isFromFuture = ({ observed_at }: Readonly<{ observed_at: string }>, now: Date): boolean =>
  Date.parse(observed_at) > now.getTime() + REPORT_AHEAD_MAX_MS;
