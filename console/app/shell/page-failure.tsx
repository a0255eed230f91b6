/** A page that crashed: the rest of the console stays usable, and the error can be reported. */
import type { ErrorComponentProps } from '@tanstack/react-router';
import { ErrorPanel } from '../ui/error-panel.tsx';

export const PageFailure = ({ error, reset }: ErrorComponentProps) => (
  <ErrorPanel
    error={{
      title: 'This page failed to load',
      detail: error instanceof Error ? error.message : String(error),
      code: 'internal',
      help: 'No data was changed. Reload the page. If it fails again, report the text above.',
      correlation_id: null,
      retryable: true,
      retry_after_s: null,
      errors: [],
    }}
    onRetry={reset}
  />
);
