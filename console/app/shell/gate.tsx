/** Requires a signed-in user: reads the user, and redirects to sign-in and back if there is none. */
import { Outlet } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useBackend } from '../api/backend.tsx';
import { MeProvider } from '../api/me.tsx';
import { useRead } from '../api/read.ts';
import { ErrorPanel } from '../ui/error-panel.tsx';
import { Loading } from '../ui/loading.tsx';
import { PendingPage } from './pending.tsx';
import { Shell } from './shell.tsx';

/** An idle page reads nothing else, but roles and sessions may end meanwhile. */
const LOOK_MS = 15_000;

/** Another user has signed in with this browser: nothing read or typed by the previous one may remain. */
const useOnePerson = (id: string | undefined): void => {
  const first = useRef(id);
  useEffect(() => {
    first.current ??= id;
    if (id !== first.current) globalThis.location.reload();
  }, [id]);
};

export const ConsoleGate = () => {
  const me = useRead('meGet', {}, { everyMs: LOOK_MS });
  useOnePerson(me.data?.id);
  if (me.data?.state === 'pending') return <PendingPage me={me.data} />;
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
  return <Loading rows={6} label="Opening sign-in" />;
};
