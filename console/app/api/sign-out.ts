/** The way out. Who could not be signed out is still signed in, and must not be told otherwise. */
import { useState } from 'react';
import { useBackend } from './backend.tsx';

export const NOT_SIGNED_OUT = 'Signing out failed: you are still signed in here. Try again.';

export const useSignOut = (): Readonly<{ hasFailed: boolean; leave(): void }> => {
  const { signOut } = useBackend();
  const [hasFailed, setFailed] = useState(false);
  const leave = (): void => {
    setFailed(false);
    signOut().then(
      (to) => globalThis.location.assign(to),
      () => setFailed(true),
    );
  };
  return { hasFailed, leave };
};
