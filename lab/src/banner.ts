/** The text shown when the lab is up: where it is, how to sign in, what to try. Fits 80 columns. */
import { relative } from 'node:path';
import { DEMO_HOSTS } from './fleet-spec.ts';
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

export const hostsLine = (count: number): string => `${count} of ${DEMO_HOSTS.length} simulated hosts are ready.`;

const hosts = (settings: Settings, hostsReady: number): readonly string[] => {
  if (settings.issuer !== undefined) return ['  Hosts      none; add simulated ones: bin/gpuaas-lab fleet --help'];
  return [
    '  Hosts      simulated: j22u15, j22u11 (slices), j27u15 (bare metal),',
    '             j22u05 (to approve)',
    ...(hostsReady >= DEMO_HOSTS.length
      ? []
      : [`             Only ${hostsLine(hostsReady)} See: bin/gpuaas admin node list`]),
  ];
};

export const banner = (
  settings: Settings,
  paths: StatePaths,
  given: Readonly<{ devPassword: string; hostsReady: number; detached: boolean }>,
): string =>
  [
    '',
    'GPUaaS is up.',
    '',
    `  Console    ${settings.publicUrl}   (API reference: /docs)`,
    ...signIn(settings, given.devPassword),
    ...hosts(settings, given.hostsReady),
    `  Log        ${shortPath(paths.serverLog)}`,
    '',
    'Try next:',
    ...(settings.publicUrl === DEFAULT_URL ? [] : [`  export GPUAAS_URL=${settings.publicUrl}`]),
    `  bin/gpuaas login${settings.issuer === undefined ? ' --dev' : ''}`,
    '  bin/gpuaas whoami',
    '  bin/gpuaas sku list',
    '  bin/gpuaas launch --help',
    '',
    given.detached ? 'Stop it with: make down' : 'Press Ctrl-C to stop it.',
  ].join('\n');
