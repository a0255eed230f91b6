/** What a person reads when the lab is up: where it is, how to sign in, what to try. Fits 80 columns. */
import { relative } from 'node:path';
import { REPO, type Settings } from './settings.ts';
import type { StatePaths } from './state.ts';

const DEFAULT_URL = 'http://localhost:8080';

const shortPath = (path: string): string => {
  const short = relative(REPO, path);
  return short.startsWith('..') ? path : short;
};

const signIn = (settings: Settings, devPassword: string): readonly string[] =>
  settings.issuer === undefined
    ? [`  Sign in    dev-admin or dev-user`, `  Password   ${devPassword}`]
    : [`  Sign in    with your account at ${settings.issuer}`];

/** The platform is ready before its hosts are; who is quicker than they are should know. */
const hosts = (settings: Settings): readonly string[] =>
  settings.issuer === undefined
    ? [
        '  Hosts      j22u15, j22u11 (slices), j27u15 (bare metal), j22u05 (to approve)',
        '             Simulated; they join within seconds: bin/gpuaas admin node list',
      ]
    : ['  Hosts      none yet; bin/gpuaas-lab fleet --help tells how simulated ones join'];

export const banner = (
  settings: Settings,
  paths: StatePaths,
  given: Readonly<{ devPassword: string; detached: boolean }>,
): string =>
  [
    '',
    'GPUaaS is up.',
    '',
    `  Console    ${settings.publicUrl}   (API reference: /docs)`,
    ...signIn(settings, given.devPassword),
    ...hosts(settings),
    `  Log        ${shortPath(paths.serverLog)}`,
    '',
    'Try next:',
    ...(settings.publicUrl === DEFAULT_URL ? [] : [`  export GPUAAS_URL=${settings.publicUrl}`]),
    `  bin/gpuaas login${settings.issuer === undefined ? ' --dev' : ''}`,
    '  bin/gpuaas whoami',
    '  bin/gpuaas sku list',
    '  bin/gpuaas launch --help',
    '',
    given.detached ? '`make down` stops it.' : 'Ctrl-C stops it.',
  ].join('\n');
