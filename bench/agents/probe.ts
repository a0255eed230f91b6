/** Loaded before a measured program: tells on request what memory it keeps, without garbage, and what processor time it took. */
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
// The channel alone keeps no program alive.
process.channel?.unref();
