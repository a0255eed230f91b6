/**
 * Text without key events: from an emoji picker, dictation or an input tool. xterm ignores it in screen reader mode, so
 * it is read here. Keys and composition stay with xterm.
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
