/** The backend of the page, for the components below. */
import { createContext, type ReactNode, useContext } from 'react';
import type { Backend } from './client.ts';

const BackendContext = createContext<Backend | null>(null);

export const BackendProvider = ({ backend, children }: Readonly<{ backend: Backend; children: ReactNode }>) => (
  <BackendContext.Provider value={backend}>{children}</BackendContext.Provider>
);

export const useBackend = (): Backend => {
  const backend = useContext(BackendContext);
  if (backend === null) throw new Error('No backend is configured.');
  return backend;
};
