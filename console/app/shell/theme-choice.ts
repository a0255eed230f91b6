/** Light, dark or system theme: stored in the browser under the name that the page's first script reads. */
import type { MantineColorScheme, MantineColorSchemeManager } from '@mantine/core';

const KEY = 'gpuaas-theme';
const isChoice = (value: string | null): value is MantineColorScheme =>
  value === 'light' || value === 'dark' || value === 'auto';

/** Storage may be blocked: the choice then lasts as long as the page. */
const read = (): MantineColorScheme => {
  try {
    const stored = localStorage.getItem(KEY);
    return isChoice(stored) ? stored : 'auto';
  } catch {
    return 'auto';
  }
};

export const createThemeChoice = (): MantineColorSchemeManager => {
  let listener: ((event: StorageEvent) => void) | undefined;
  return {
    get: read,
    set: (value) => {
      try {
        localStorage.setItem(KEY, value);
      } catch {
        // As above.
      }
    },
    subscribe: (onUpdate) => {
      listener = ({ key, newValue }) => {
        if (key === KEY && isChoice(newValue)) onUpdate(newValue);
      };
      globalThis.addEventListener('storage', listener);
    },
    unsubscribe: () => {
      if (listener !== undefined) globalThis.removeEventListener('storage', listener);
    },
    clear: () => localStorage.removeItem(KEY),
  };
};
