/** Loaded before a measured program: reports on request its memory after garbage collection and its CPU time. */
export type Reading = Readonly<{ rss_bytes: number; cpu_ms: number }>;

const read = (): Reading => {
  const { user, system } = process.cpuUsage();
  return { rss_bytes: process.memoryUsage.rss(), cpu_ms: (user + system) / 1000 };
};

process.on('message', (message: Readonly<{ read?: 'memory' | 'cpu' }>) => {
  if (message.read === undefined) return;
  if (message.read === 'memory') for (let n = 0; n < 2; n++) globalThis.gc?.({ type: 'major', execution: 'sync' });
  process.send?.(read());
});
// The channel alone does not keep the program alive.
process.channel?.unref();
