/** A directory of images over HTTP on the loopback of this computer, as a site's image store. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';

export type ImageServer = Readonly<{ port: number; close(): Promise<void> }>;

export const serveFolder = async (folder: string): Promise<ImageServer> => {
  const server = createServer((request, response) => {
    const path = join(folder, normalize(`/${new URL(request.url ?? '/', 'http://localhost').pathname}`));
    stat(path).then(
      ({ size }) => {
        response.writeHead(200, { 'content-length': size });
        createReadStream(path).pipe(response);
      },
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
