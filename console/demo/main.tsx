/**
 * The console with the API in the page: `make console-demo`. Nothing leaves the browser. User and data set are selected
 * in the URL fragment: `#as=viewer&seed=large`; with `speed=0` nothing progresses automatically.
 */
import { createBackend } from '../app/api/client.ts';
import { startConsole } from '../app/start.tsx';
import { connectMock, createMockApi, type MockOptions } from '../mock-api/index.ts';

const SEEDS = ['demo', 'empty', 'large', 'hostile'] as const;
const PERSONAS = ['operator', 'owner', 'member', 'viewer', 'newcomer', 'waiting'] as const;

const optionsOf = (hash: string): MockOptions => {
  const asked = new URLSearchParams(hash.slice(1));
  const seed = SEEDS.find((one) => one === asked.get('seed'));
  const persona = PERSONAS.find((one) => one === asked.get('as'));
  const speed = Number(asked.get('speed') ?? 1);
  return {
    ...(seed === undefined ? {} : { seed }),
    ...(persona === undefined ? {} : { as: persona }),
    ...(speed >= 0 && speed <= 100 ? { speed } : {}),
  };
};

const { fetch } = createMockApi(optionsOf(globalThis.location.hash));
// A page that loads again is signed in again.
const signInUrl = (returnTo: string): string => `${returnTo}${globalThis.location.hash}`;
startConsole(createBackend({ fetch, connect: connectMock, signInUrl }));
