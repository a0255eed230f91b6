/**
 * The complete public API in memory, for a page without a backend and for its tests. It is a simulator of the contract,
 * not a stub: it refuses what the server refuses, in the server's words.
 */
import type { OperationId } from '@gpuaas/contract';
import type { Principal } from './core/authorize.ts';
import { type AnyHandler, createServe } from './core/serve.ts';
import { createWorld, type Faults, type World } from './core/world.ts';
import { handlers } from './handlers/index.ts';
import { seedCatalog } from './seed/catalog.ts';
import { seedDemo, seedLarge } from './seed/demo.ts';
import { seedHistory } from './seed/history.ts';
import { makeHostile } from './seed/hostile.ts';
import { type Persona, type SeedIds, seedPeople } from './seed/people.ts';

export { connectMock } from './terminal/connect.ts';
export type { Faults, Persona, SeedIds };

export type Seed = 'demo' | 'empty' | 'large' | 'hostile';

export type MockOptions = Readonly<{
  now?: () => number;
  /**
   * `empty` has users and a catalog and no host; `large` a thousand hosts; `hostile` the demo with markup in every
   * name.
   */
  seed?: Seed;
  as?: Persona;
  /** How many seconds of the demo pass per second. */
  speed?: number;
  faults?: Faults;
  /** The latency of each response. */
  latencyMs?: number;
  /** Validates each response against the contract; an invalid one is a 500 with its reason on the console. */
  checksResponses?: boolean;
  /** How long ago the user signed in (default now). */
  signedInAgoMs?: number;
  /** The age of a sign-in that operator changes accept (default 15 minutes, as the server's). */
  freshSignInMaxAgeS?: number;
}>;

export type MockApi = Readonly<{
  fetch: typeof fetch;
  /** IDs that a page or test starts from. */
  seedIds: SeedIds;
  /** Applies what is due; a page calls it by a timer so that streams progress without requests. */
  tick(): void;
  signInAs(persona: Persona, agoMs?: number): void;
  world: World;
  close(): void;
}>;

const HEAD_START_MS = 6_000;
/** How often an idle page checks whether something is due. */
const TICK_MS = 200;

export const createMockApi = (options: MockOptions = {}): MockApi => {
  const { now = Date.now, seed = 'demo', speed = 1 } = options;
  const start = now();
  // The seed starts a little earlier, so that work in progress is half-way at the first view.
  let backMs = HEAD_START_MS;
  // Time stands still while seeding, so that the same IDs are generated each time.
  let isSeeded = false;
  const clock = (): number => start + (isSeeded ? (now() - start) * speed : 0) - backMs;
  const world = createWorld({ clock, faults: options.faults ?? {} });
  seedCatalog(world);
  const seedIds = seedPeople(world);
  if (seed === 'large') seedLarge(world, seedIds);
  else if (seed !== 'empty') seedDemo(world, seedIds);
  if (seed !== 'empty') seedHistory(world, seedIds);
  if (seed === 'hostile') makeHostile(world);
  backMs = 0;
  isSeeded = true;
  world.agenda.catchUp();

  let persona: Persona = options.as ?? 'operator';
  let isSignedIn = true;
  let authTimeMs = clock() - (options.signedInAgoMs ?? 0);
  const principal = (): Principal | null => {
    const user = world.users.get(seedIds.users[persona]);
    const session = world.webSessions.find((one) => one.user_id === user?.id && one.is_current);
    if (!isSignedIn || user === undefined || user.state === 'disabled' || session === undefined) return null;
    const { id, name, email, platform_role } = user;
    const auth_time = new Date(authTimeMs).toISOString();
    return { id, name, email, platform_role, scopes: ['all'], web_session_id: session.id, auth_time };
  };
  const table = handlers as unknown as Readonly<Record<OperationId, AnyHandler>>;
  const identity = {
    principal,
    signOut: () => {
      isSignedIn = false;
    },
    signIn: () => {
      isSignedIn = true;
      authTimeMs = clock();
    },
  };
  const tick = (): void => {
    world.agenda.catchUp();
  };
  // A test brings its own clock and moves it by hand.
  const timer = options.now === undefined ? setInterval(tick, TICK_MS) : undefined;
  return {
    fetch: createServe(world, table, identity, {
      latencyMs: options.latencyMs ?? 0,
      checksResponses: options.checksResponses ?? false,
      freshSignInMaxAgeS: options.freshSignInMaxAgeS ?? 900,
    }),
    seedIds,
    tick,
    world,
    signInAs: (as, agoMs = 0) => {
      persona = as;
      isSignedIn = true;
      authTimeMs = clock() - agoMs;
    },
    close: () => clearInterval(timer),
  };
};
