/**
 * The three states of a read, in one place: loading, failed, loaded. Loaded data stays visible while it is read again.
 */
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
