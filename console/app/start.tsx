/** Mounts the console in the page with the given backend: the API, or that of the demo. */
import '@mantine/core/styles.css';
import './ui/ui.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BackendProvider } from './api/backend.tsx';
import type { Backend } from './api/client.ts';
import { createQueries } from './api/query-client.ts';
import { createConsoleRouter } from './router.tsx';
import { createThemeChoice } from './shell/theme-choice.ts';
import { allowPlainText } from './trusted-text.ts';
import { theme } from './ui/theme.ts';

/** The content security policy allows only styles with the nonce, which the server creates for each page. */
const nonceOf = (): string => document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';

/** The scroll lock of dialogs inserts its own style and reads the nonce here. */
const shareNonce = (): void => {
  Object.assign(globalThis, { __webpack_nonce__: nonceOf() });
};

export const startConsole = (backend: Backend): void => {
  allowPlainText();
  shareNonce();
  const root = document.querySelector('#root');
  if (root === null) throw new Error('The page has no root element for the console.');
  const queries = createQueries();
  const router = createConsoleRouter({ backend, queries });
  createRoot(root).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        defaultColorScheme="auto"
        colorSchemeManager={createThemeChoice()}
        getStyleNonce={nonceOf}
      >
        <QueryClientProvider client={queries}>
          <BackendProvider backend={backend}>
            <RouterProvider router={router} />
          </BackendProvider>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
};
