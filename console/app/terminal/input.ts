/**
 * Text that no key brought: from an emoji picker, dictation, or a tool that types for somebody. xterm takes it only where
 * nobody listens to the screen, so it is taken here; what comes by keys or by composition stays with xterm.
 */
import type { Terminal } from '@xterm/xterm';

export const bindInput = (terminal: Terminal, element: HTMLElement): (() => void) => {
  const bound = new AbortController();
  const { signal } = bound;
  let isKeyDown = false;
  for (const [name, isDown] of [
    ['keydown', true],
    ['keyup', false],
    ['focusout', false],
  ] as const) {
    const note = (): void => {
      isKeyDown = isDown;
    };
    element.addEventListener(name, note, { capture: true, signal });
  }
  element.addEventListener(
    'input',
    (event) => {
      if (!(event instanceof InputEvent) || event.inputType !== 'insertText' || event.isComposing || isKeyDown) return;
      if (event.data !== null && terminal.options.disableStdin !== true) terminal.input(event.data);
    },
    { capture: true, signal },
  );
  return () => bound.abort();
};
