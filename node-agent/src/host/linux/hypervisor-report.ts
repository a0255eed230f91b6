/**
 * Reads the guest report from the VM's port. A client gets the waiting line or the next one; no line within the time
 * means no report. The content is untrusted: it is read briefly, up to a limit, and nothing is sent back.
 */
import { createConnection } from 'node:net';
import { createReportReader } from '../../vm/guest-report.ts';
import { type GuestReport, HostError } from '../host.ts';

const LISTEN_MS = 2_500;
/** No VM, or one that is just starting or ending. */
const NO_REPORT = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE']);

export const listenToGuest = (socket: string): Promise<GuestReport | null> =>
  new Promise((resolve, reject) => {
    const reader = createReportReader();
    const connection = createConnection(socket);
    const end = (report: GuestReport | null): void => {
      clearTimeout(timer);
      connection.destroy();
      resolve(report);
    };
    const timer = setTimeout(() => end(null), LISTEN_MS);
    connection.on('data', (chunk: Buffer) => {
      const report = reader.read(chunk);
      if (report !== null) end(report);
      // Its further output is ignored for the rest of the time and costs nothing.
      else if (reader.isSpent()) connection.pause();
    });
    connection.on('end', () => end(null));
    connection.on('error', (error: NodeJS.ErrnoException) => {
      if (NO_REPORT.has(error.code ?? '')) return end(null);
      clearTimeout(timer);
      reject(new HostError('host_error', `${socket} could not be read (${error.code}).`, { cause: error }));
    });
  });
