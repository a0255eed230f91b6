/** Exports all rows that match the filters as a JSONL file. The page collects them; the export can be stopped. */
import { type AuditLog, GpuaasError } from '@gpuaas/sdk';
import { Button, Group } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { download } from '../../format/download.ts';
import { count } from '../../format/size.ts';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import './audit.css';

const SHOWN_EVERY = 200;

export const AuditExport = ({
  fileName,
  read,
}: Readonly<{ fileName: string; read(signal: AbortSignal): AsyncIterable<AuditLog> }>) => {
  const running = useRef<AbortController | null>(null);
  const [rows, setRows] = useState<number | null>(null);
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<GpuaasError | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  const start = async () => {
    const stopped = new AbortController();
    running.current = stopped;
    setRunning(true);
    setError(null);
    setRows(0);
    const lines: string[] = [];
    try {
      for await (const row of read(stopped.signal)) {
        lines.push(`${JSON.stringify(row)}\n`);
        if (lines.length % SHOWN_EVERY === 0) setRows(lines.length);
      }
      setRows(lines.length);
      if (!stopped.signal.aborted) download(fileName, lines.join(''), 'application/jsonl');
    } catch (err) {
      if (!stopped.signal.aborted)
        setError(err instanceof GpuaasError ? err : new GpuaasError('unexpected_response', String(err)));
      setRows(null);
    } finally {
      setRunning(false);
    }
  };

  return (
    <>
      <Group gap="xs">
        <span role="status" className="muted audit-status">
          {rows === null ? '' : isRunning ? `${count(rows, 'row')} read` : `${count(rows, 'row')} exported`}
        </span>
        {isRunning ? (
          <Button variant="default" onClick={() => running.current?.abort()}>
            Stop
          </Button>
        ) : (
          <Button variant="default" leftSection={<IconDownload size={15} aria-hidden />} onClick={() => void start()}>
            Export JSONL
          </Button>
        )}
      </Group>
      {error !== null && <ErrorPanel error={error} onRetry={() => void start()} />}
    </>
  );
};
