/**
 * Two builds of one console: `vite build` for the server to serve, `--mode demo` with the API in the page. Nothing is
 * inlined, because the page's policy allows neither inline script nor data: scripts.
 */
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig(({ mode }) => {
  const isDemo = mode === 'demo';
  return {
    root: isDemo ? `${import.meta.dirname}/demo` : import.meta.dirname,
    publicDir: `${import.meta.dirname}/public`,
    plugins: [react()],
    // A bundle must not depend on environment variables of the builder.
    envDir: false,
    build: {
      outDir: `${import.meta.dirname}/../dist/${isDemo ? 'console-demo' : 'console'}`,
      emptyOutDir: true,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: 'es2023',
      manifest: 'manifest.json',
      reportCompressedSize: false,
      chunkSizeWarningLimit: 2_000,
    },
    server: {
      host: '127.0.0.1',
      proxy: { '/api': 'http://localhost:8080', '/auth': 'http://localhost:8080', '/oidc': 'http://localhost:8080' },
    },
  };
});
