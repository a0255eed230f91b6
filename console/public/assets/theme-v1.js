// Runs before the first paint, so that a chosen theme never flashes up as the other one.
(() => {
  let chosen = 'auto';
  try {
    chosen = localStorage.getItem('gpuaas-theme') || 'auto';
  } catch {
    // Storage may be forbidden; the system's theme is then right.
  }
  const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light');
})();
