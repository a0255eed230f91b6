/**
 * Whether the user is active. Automatic requests of an idle page are marked, so that an open page does not keep its
 * session from becoming idle.
 */
const LEFT_MS = 120_000;
const TOUCHES = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const;

/** Focusing the page counts as activity. */
export const watchAttention = (
  page: Pick<EventTarget, 'addEventListener'>,
  now: () => number = Date.now,
): Readonly<{ isLeft(): boolean }> => {
  let touchedAt = now();
  const touch = (): void => {
    touchedAt = now();
  };
  for (const name of TOUCHES) page.addEventListener(name, touch, { capture: true, passive: true });
  return { isLeft: () => now() - touchedAt > LEFT_MS };
};
