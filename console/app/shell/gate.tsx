/** Nobody gets past here without being signed in: asks who it is, sends strangers to sign in and back again. */
import { Outlet } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useBackend } from '../api/backend.tsx';
import { MeProvider } from '../api/me.tsx';
import { useRead } from '../api/read.ts';
import { ErrorPanel } from '../ui/error-panel.tsx';
import { Loading } from '../ui/loading.tsx';
import { Shell } from './shell.tsx';

/** A page that nobody touches asks nothing else; roles and sessions end meanwhile. */
const LOOK_MS = 15_000;

export const ConsoleGate = () => {
  const me = useRead('meGet', {}, { everyMs: LOOK_MS });
  if (me.data !== undefined)
    return (
      <MeProvider me={me.data}>
        <Shell isSignedOut={me.error?.code === 'unauthenticated'}>
          <Outlet />
        </Shell>
      </MeProvider>
    );
  if (me.error?.code === 'unauthenticated') return <ToSignIn />;
  if (me.error !== null)
    return (
      <main style={{ maxWidth: 640, margin: '10vh auto', padding: 16 }}>
        <ErrorPanel error={me.error} onRetry={() => void me.refetch()} />
      </main>
    );
  return <Loading rows={6} label="Signing in" />;
};

const ToSignIn = () => {
  const { signInUrl } = useBackend();
  useEffect(() => {
    globalThis.location.replace(signInUrl(globalThis.location.pathname + globalThis.location.search));
  }, [signInUrl]);
  return <Loading rows={6} label="Going to sign in" />;
};
