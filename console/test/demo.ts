/** `make console-demo`: every page of the console in the browser, with no backend. */
import { ensureConsole } from '../../tools/build-console.ts';
import { serveBuild } from './serve.ts';

const { url, close } = await serveBuild(await ensureConsole('console-demo'), {
  port: Number(process.argv[2] ?? 8090),
});
console.log(`The demo is at ${url} and needs nothing else. Ctrl-C stops it.`);
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => void close().then(() => process.exit(0)));
