/** The web server of a simulated system, so that a forwarded port shows something. */
import type { Duplex } from 'node:stream';

/** The usual port of notebooks. */
export const PAGE_PORT = 8888;

export const servePage = async (socket: Duplex, hostname: string): Promise<void> => {
  const { createServer } = await import('node:http');
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'x-content-type-options': 'nosniff' });
    response.end(
      `<!doctype html><title>${hostname}</title><p>This is port ${PAGE_PORT} of ${hostname}, simulated.</p>\n`,
    );
  });
  socket.once('close', () => server.close());
  server.emit('connection', socket);
};
