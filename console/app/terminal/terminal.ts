/**
 * The terminal of an allocation in a browser: `mountTerminal(element, { connect })`. It fills an element that has a
 * size and follows it. Nothing from the stream becomes HTML, a title, a link or clipboard content, because the tenant
 * controls it.
 */
import './terminal.css';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { bindClipboard } from './clipboard.ts';
import { bindInput } from './input.ts';
import { type Connect, type Session, startSession } from './session.ts';
import { createStatus } from './status.ts';
import { hostStyles } from './styles.ts';
import { followTheme, THEMES, type ThemeChoice } from './theme.ts';

export type TerminalOptions = Readonly<{
  connect: Connect;
  /** The accessible name of the terminal. */
  label: string;
  theme?: ThemeChoice;
}>;

export type MountedTerminal = Readonly<{
  focus(): void;
  setTheme(theme: ThemeChoice): void;
  reconnect(): void;
  /** Ends the session and removes everything that was added to the page. */
  unmount(): void;
}>;

const SCROLLBACK_LINES = 5000;
/** Input smaller than this is sent before a user could read a progress message. */
const TELL_UNSENT = 256 * 1024;
/** Titles, links and writes to the clipboard. */
const IGNORED_OSC = [0, 1, 2, 8, 52] as const;
const FIRST_SCREEN = '\x1b[?1049l';
/** Other modes that an interrupted program may have left on: mouse, paste brackets, hidden cursor, colors. */
const PUT_BACK = '\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[!p\x1b[0m\r\n';

const megabytes = (count: number): string => (count / 1024 ** 2).toFixed(1);

export const mountTerminal = (element: HTMLElement, options: TerminalOptions): MountedTerminal => {
  const { ownerDocument: document } = element;
  const frame = document.createElement('div');
  frame.className = 'gpuaas-terminal';
  const screen = document.createElement('div');
  screen.className = 'gpuaas-terminal-screen';
  screen.setAttribute('role', 'group');
  screen.setAttribute('aria-label', `Terminal of ${options.label}. Press Control F6 to leave.`);
  const status = createStatus(document, () => reconnect());
  // Takes the focus when the user leaves the terminal by key.
  status.element.tabIndex = -1;
  frame.append(status.notice, screen, status.element);
  element.append(frame);

  const styles = hostStyles(screen);
  const terminal = new Terminal({
    documentOverride: styles.document,
    scrollback: SCROLLBACK_LINES,
    screenReaderMode: true,
    minimumContrastRatio: 4.5,
    cursorBlink: false,
    fontFamily: 'ui-monospace, "DejaVu Sans Mono", "Cascadia Mono", Menlo, Consolas, monospace',
    fontSize: 14,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  for (const code of IGNORED_OSC) terminal.parser.registerOscHandler(code, () => true);
  styles.open(terminal, screen);

  let session: Session | null = null;
  const begin = (): void => {
    session?.close();
    status.say('Connecting…');
    const connected = (): void => status.say('Connected.');
    session = startSession(options.connect, {
      size: () => ({ cols: terminal.cols, rows: terminal.rows }),
      draw: (bytes) => new Promise((resolve) => terminal.write(bytes, resolve)),
      opened: (facts) => {
        terminal.options.disableStdin = !facts.is_writable;
        status.session(facts);
        status.say('Waiting for the VM…');
      },
      ready: connected,
      unsent: (count) => {
        if (count > TELL_UNSENT) status.say(`Pasting, ${megabytes(count)} MB remaining…`);
        else if (count === 0) connected();
      },
      over: (sentence) => {
        const hadFocus = screen.contains(document.activeElement);
        terminal.options.disableStdin = true;
        terminal.write((terminal.buffer.active.type === 'alternate' ? FIRST_SCREEN : '') + PUT_BACK);
        status.over(sentence);
        if (hadFocus) status.button.focus();
      },
    });
  };
  const reconnect = (): void => {
    begin();
    terminal.focus();
  };

  let frameRequest = 0;
  const refit = (): void => {
    cancelAnimationFrame(frameRequest);
    frameRequest = requestAnimationFrame(() => fit.fit());
  };
  const observer = new ResizeObserver(refit);
  observer.observe(screen);
  const listeners = [
    terminal.onData((text) => session?.type(text)),
    // Mouse reports of old programs are bytes, not text; xterm returns one character for each.
    terminal.onBinary((text) => session?.type(Uint8Array.from(text, (char) => char.charCodeAt(0)))),
    terminal.onResize((size) => session?.resize(size)),
  ];
  const unbind = bindClipboard(terminal, screen, {
    say: (text) => status.say(text),
    leave: () => (status.button.hidden ? status.element : status.button).focus(),
  });
  const unbindInput = bindInput(terminal, screen);
  let unfollow = (): void => undefined;
  const setTheme = (choice: ThemeChoice): void => {
    unfollow();
    unfollow = followTheme(choice, (name) => {
      frame.dataset['theme'] = name;
      terminal.options.theme = THEMES[name];
    });
  };
  setTheme(options.theme ?? 'auto');
  fit.fit();
  begin();

  return {
    focus: () => terminal.focus(),
    setTheme,
    reconnect,
    unmount: () => {
      session?.close();
      observer.disconnect();
      cancelAnimationFrame(frameRequest);
      unfollow();
      unbind();
      unbindInput();
      for (const listener of listeners) listener.dispose();
      terminal.dispose();
      styles.remove();
      frame.remove();
    },
  };
};
