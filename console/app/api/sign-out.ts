/** Signs the browser out. A failed sign-out must show: the user is still signed in. */
import { useState } from 'react';
import { useBackend } from './backend.tsx';

export const NOT_SIGNED_OUT = 'Sign-out failed. You are still signed in. Try again.';

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
