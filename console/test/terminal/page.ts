/** The test page of the terminal: the component, and the gateway of the test at the same origin. */
import { openStream } from '@gpuaas/sdk';
import { mountTerminal } from '../../app/terminal/terminal.ts';

const element = document.querySelector('#terminal');
const query = new URLSearchParams(location.search);
const theme = query.get('theme');

const mounted =
  element instanceof HTMLElement
    ? mountTerminal(element, {
        label: 'train',
        ...(theme === 'light' || theme === 'dark' ? { theme } : {}),
        connect: async (size, signal) => {
          const response = await fetch('/ticket', { method: 'POST', body: JSON.stringify(size), signal });
          return openStream({ ticket: (await response.json()) as { ticket: string; url: string }, signal });
        },
      })
    : null;
mounted?.focus();
document.addEventListener('unmount', () => mounted?.unmount());
