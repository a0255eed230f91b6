/**
 * Copy and paste. Pasted content is only text: control characters that a page could have put into the clipboard,
 * including the end mark of a bracketed paste, never reach the shell.
 */
import type { Terminal } from '@xterm/xterm';

/** Tabs and line ends are kept; all other control characters are dropped. */
const CONTROL = /(?![\t\n\r])\p{Cc}/gu;

export const cleanPaste = (text: string): string => text.replace(CONTROL, '');

const isKey = (event: KeyboardEvent, code: string): boolean =>
  event.type === 'keydown' && event.ctrlKey && event.shiftKey && !event.altKey && event.code === code;

export const bindClipboard = (
  terminal: Terminal,
  element: HTMLElement,
  options: Readonly<{ say: (text: string) => void; leave: () => void }>,
): (() => void) => {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(terminal.getSelection());
    } catch {
      options.say('The browser blocked copying. Use the browser menu.');
    }
  };
  terminal.attachCustomKeyEventHandler((event) => {
    if (isKey(event, 'KeyC')) {
      event.preventDefault();
      if (terminal.hasSelection()) void copy();
      return false;
    }
    // The browser pastes natively, which needs no permission.
    if (isKey(event, 'KeyV')) return false;
    if (event.type === 'keydown' && event.ctrlKey && event.code === 'F6') {
      event.preventDefault();
      options.leave();
      return false;
    }
    return true;
  });
  const paste = (event: ClipboardEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    const text = cleanPaste(event.clipboardData?.getData('text/plain') ?? '');
    if (text !== '') terminal.paste(text);
  };
  // Before xterm's own listener, which uses the text unfiltered.
  element.addEventListener('paste', paste, { capture: true });
  return () => element.removeEventListener('paste', paste, { capture: true });
};
