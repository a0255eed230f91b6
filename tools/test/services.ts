/**
 * Services shared by test files, started once per run and named to them by environment variables: a PostgreSQL cluster,
 * a second one for files that test commit order, and a browser. A file run alone starts its own.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBrowser } from './requires.ts';

export type Services = Readonly<{
  env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
  /** For `exit` handlers, which cannot wait. */
  abandon(): void;
}>;

/** Transactions of other files delay commit order for moments, so these files run one after the other. */
const ORDERED = /^import '.*\/own-cluster\.ts';$/m;
/** The page tests and the stories in a browser. */
const IN_BROWSER = /from '.*\b(browser|page)\.ts';$/m;

const textOf = (root: string, file: string): string => readFileSync(join(root, file), 'utf8');

export const needsCommitOrder = (root: string, file: string): boolean => ORDERED.test(textOf(root, file));
const needsBrowser = (root: string, file: string): boolean =>
  /^(console|e2e)\//.test(file) && IN_BROWSER.test(textOf(root, file));

const startBrowser = async (): Promise<Services> => {
  const { startBrowserServer } = await import('../../console/test/browser-server.ts');
  const server = await startBrowserServer();
  return {
    env: { GPUAAS_TEST_BROWSER_URL: server.wsEndpoint() },
    stop: () => server.close(),
    abandon: () => server.process().kill('SIGKILL'),
  };
};

const startCluster = async (name: string): Promise<Services> => {
  const { startTestCluster } = await import('../../server/test/cluster.ts');
  const postgres = await startTestCluster();
  const abandon = (): void => postgres.abandon();
  return { env: { [name]: postgres.url }, stop: async () => abandon(), abandon };
};

export const startServices = async (
  root: string,
  files: readonly string[],
  options: Readonly<{ postgres: boolean }>,
): Promise<Services> => {
  const some = (needs: (root: string, file: string) => boolean): boolean => files.some((file) => needs(root, file));
  const started: Services[] = [];
  const abandon = (): void => {
    for (const service of started) service.abandon();
  };
  process.once('exit', abandon);
  if (options.postgres) started.push(await startCluster('GPUAAS_TEST_POSTGRES_URL'));
  if (options.postgres && some(needsCommitOrder)) started.push(await startCluster('GPUAAS_TEST_ORDERED_POSTGRES_URL'));
  if (findBrowser() !== undefined && some(needsBrowser)) started.push(await startBrowser());
  return {
    env: Object.assign({}, ...started.map(({ env }) => env)) as Record<string, string>,
    stop: async () => {
      await Promise.all(started.map((service) => service.stop()));
    },
    abandon,
  };
};
