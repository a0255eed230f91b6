/**
 * What a guest says on its port. Whoever connects gets the line that waits there, or the next one; a guest that says nothing
 * in that time has not said anything. It is the tenant's: it is read for a moment, up to a limit, and answered nothing.
 */
import { createConnection } from 'node:net';
import { REPORT_BYTES_MAX, readReport } from '../../machine/guest-report.ts';
import { type GuestReport, HostError } from '../host.ts';

const LISTEN_MS = 2_500;
/** No machine, or one that is just starting or ending. */
const SILENT = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE']);

export const listenToGuest = (socket: string): Promise<GuestReport | null> =>
  new Promise((resolve, reject) => {
    let said = Buffer.alloc(0);
    const connection = createConnection(socket);
    const end = (report: GuestReport | null): void => {
      clearTimeout(timer);
      connection.destroy();
      resolve(report);
    };
    const timer = setTimeout(() => end(readReport(said)), LISTEN_MS);
    connection.on('data', (chunk: Buffer) => {
      said = Buffer.concat([said, chunk]).subarray(-REPORT_BYTES_MAX);
      const report = readReport(said);
      if (report !== null) end(report);
    });
    connection.on('end', () => end(readReport(said)));
    connection.on('error', (error: NodeJS.ErrnoException) => {
      if (SILENT.has(error.code ?? '')) return end(null);
      clearTimeout(timer);
      reject(new HostError('host_error', `${socket} could not be read (${error.code}).`, { cause: error }));
    });
  });
