/** The colors of the terminal in light and dark. xterm keeps program colors readable on either. */
import type { ITheme } from '@xterm/xterm';

export type ThemeName = 'light' | 'dark';
/** `auto` follows the system. */
export type ThemeChoice = ThemeName | 'auto';

export const THEMES: Readonly<Record<ThemeName, ITheme>> = {
  dark: {
    background: '#101418',
    foreground: '#e3e8ee',
    cursor: '#e3e8ee',
    cursorAccent: '#101418',
    selectionBackground: '#33557a',
    selectionForeground: '#ffffff',
    scrollbarSliderBackground: '#5a677466',
    black: '#1b2229',
    red: '#ff7b72',
    green: '#7bd88f',
    yellow: '#e5c07b',
    blue: '#79b8ff',
    magenta: '#d2a8ff',
    cyan: '#76d9e6',
    white: '#c9d1d9',
    brightBlack: '#8b98a5',
    brightRed: '#ffa198',
    brightGreen: '#a5e8b4',
    brightYellow: '#f2d79c',
    brightBlue: '#a5d0ff',
    brightMagenta: '#e2c5ff',
    brightCyan: '#a6e9f2',
    brightWhite: '#ffffff',
  },
  light: {
    background: '#ffffff',
    foreground: '#1b2229',
    cursor: '#1b2229',
    cursorAccent: '#ffffff',
    selectionBackground: '#b6d4f5',
    selectionForeground: '#1b2229',
    scrollbarSliderBackground: '#5a677455',
    black: '#1b2229',
    red: '#b3261e',
    green: '#1a6b33',
    yellow: '#7a5600',
    blue: '#0b57b8',
    magenta: '#7b2fa8',
    cyan: '#0b6b78',
    white: '#5a6774',
    brightBlack: '#5a6774',
    brightRed: '#c9362c',
    brightGreen: '#227a3e',
    brightYellow: '#8a6200',
    brightBlue: '#1a67cc',
    brightMagenta: '#8d40bb',
    brightCyan: '#127a88',
    brightWhite: '#3b4650',
  },
};

/** Reports the theme now and on every change, until the returned function is called. */
export const followTheme = (choice: ThemeChoice, report: (name: ThemeName) => void): (() => void) => {
  if (choice !== 'auto') {
    report(choice);
    return () => undefined;
  }
  const query = matchMedia('(prefers-color-scheme: dark)');
  const reportCurrent = (): void => report(query.matches ? 'dark' : 'light');
  reportCurrent();
  query.addEventListener('change', reportCurrent);
  return () => query.removeEventListener('change', reportCurrent);
};
