/** The three ways a read can stand, in one place: waiting, refused, there. What is there stays while it is asked again. */
import type { ReactNode } from 'react';
import { ErrorPanel, type ShownError } from './error-panel.tsx';
import { Loading } from './loading.tsx';

export const Async = <T,>({
  of: { data, error, refetch },
  rows,
  label,
  children,
}: Readonly<{
  of: Readonly<{ data: T | undefined; error: ShownError | null; refetch: () => unknown }>;
  rows?: number;
  label?: string;
  children: (data: T) => ReactNode;
}>) => {
  if (data !== undefined)
    return (
      <>
        {error !== null && <ErrorPanel error={error} onRetry={() => void refetch()} />}
        {children(data)}
      </>
    );
  if (error !== null) return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  return <Loading {...(rows === undefined ? {} : { rows })} {...(label === undefined ? {} : { label })} />;
};
