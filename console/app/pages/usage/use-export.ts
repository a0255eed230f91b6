/** Reads every record, page after page, and creates the file. */
import type { GpuaasError, UsageRecord } from '@gpuaas/sdk';
import { useState } from 'react';
import { useBackend } from '../../api/backend.tsx';
import { asError } from '../../api/change.ts';
import { download } from '../../format/download.ts';
import { usageCsv, usageJson } from './export.ts';

export type ExportFormat = 'csv' | 'json';

export const useExport = (projectId: string, projectName: string) => {
  const { client } = useBackend();
  const [running, setRunning] = useState<ExportFormat | null>(null);
  const [error, setError] = useState<GpuaasError | null>(null);

  const read = async (format: ExportFormat): Promise<string> => {
    const request = { params: { project_id: projectId }, query: { limit: 200 } };
    const records: UsageRecord[] = [];
    for await (const record of client.pages.usageList(request)) records.push(record);
    if (format === 'json') return usageJson(records);
    const names = new Map<string, string>();
    for await (const { id, name } of client.pages.allocationList(request)) names.set(id, name);
    return usageCsv(records, names);
  };

  const run = async (format: ExportFormat): Promise<void> => {
    setRunning(format);
    setError(null);
    try {
      const today = new Date().toISOString().slice(0, 10);
      const type = format === 'csv' ? 'text/csv;charset=utf-8' : 'application/json';
      download(`usage-${projectName}-${today}.${format}`, await read(format), type);
    } catch (err) {
      setError(asError(err));
    } finally {
      setRunning(null);
    }
  };
  return { run, running, error };
};
