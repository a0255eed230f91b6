/** An error where it happened: cause, next action and a correlation ID to copy. */
import { Button, Group, List, Text } from '@mantine/core';
import { IconCircleX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { type Reason, reasonLines } from '../rules/reasons.ts';
import { Copyable } from './copy.tsx';

export type ShownError = Readonly<{
  title: string;
  detail: string;
  code: string;
  help: string | null;
  correlation_id: string | null;
  retryable: boolean;
  retry_after_s: number | null;
  errors: readonly Readonly<{ pointer: string; message: string }>[];
  reasons?: readonly Reason[];
}>;

const nextAction = (error: ShownError): string => {
  if (error.retry_after_s !== null) return `Retry in ${error.retry_after_s} s.`;
  if (error.help !== null) return error.help;
  return error.retryable ? 'Retry in a moment.' : 'Retrying the same request will not help.';
};

const Reasons = ({ error }: Readonly<{ error: ShownError }>) => {
  const lines = reasonLines(error);
  return lines.length === 0 ? null : (
    <List size="sm" my={4}>
      {lines.map((line) => (
        <List.Item key={line}>{line}</List.Item>
      ))}
    </List>
  );
};

export const ErrorPanel = ({
  error,
  onRetry,
  children,
}: Readonly<{ error: ShownError; onRetry?: (() => void) | undefined; children?: ReactNode }>) => (
  <section className="panel" data-tone="bad" role="alert" aria-label={error.title}>
    <Group gap={8} wrap="nowrap" align="flex-start">
      <IconCircleX size={18} aria-hidden style={{ flexShrink: 0, marginTop: 1 }} />
      <div style={{ minWidth: 0 }}>
        <Text fw={600} inherit>
          {error.title}
        </Text>
        <div className="panel-body">
          <p style={{ margin: '4px 0', overflowWrap: 'anywhere' }}>{error.detail}</p>
          {error.errors.length > 0 && (
            <List size="sm" my={4}>
              {error.errors.map(({ pointer, message }) => (
                <List.Item key={`${pointer} ${message}`}>
                  <span className="mono">{pointer}</span> {message}
                </List.Item>
              ))}
            </List>
          )}
          {children ?? <Reasons error={error} />}
          <p style={{ margin: '4px 0' }}>{nextAction(error)}</p>
          <Group gap={12} mt={6}>
            {onRetry !== undefined && (
              <Button size="xs" variant="default" onClick={onRetry}>
                Retry
              </Button>
            )}
            {error.correlation_id !== null && (
              <span className="copy">
                <Text span size="sm" className="muted">
                  Correlation ID
                </Text>
                <Copyable text={error.correlation_id} label="correlation ID" />
              </span>
            )}
            {/* Local errors are not in the API documentation, and the server may be unreachable. */}
            {error.help !== null && (
              <a className="link" href={`/docs/errors/${error.code}`} target="_blank" rel="noreferrer">
                About {error.code}
              </a>
            )}
          </Group>
        </div>
      </div>
    </Group>
  </section>
);
