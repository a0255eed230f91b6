/**
 * Whether somebody is at the page. What it asks by itself, by a timer or because something happened, says so to the server when
 * nobody has touched it for a while: a page that was left open must not keep its session from going idle.
 */
const LEFT_MS = 120_000;
const TOUCHES = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const;

/** Coming to the page counts as touching it. */
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
