/**
 * The home directory of a test file. Each file gets an empty one, so that no test depends on the settings of the user
 * who runs it, or changes them. It holds one trap: a profile of the `gpuaas` command that cannot be parsed. A test that
 * runs the command without its own configuration directory fails on it, on every computer and not only after a first
 * sign-in.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export type TestHome = Readonly<{
  env: Readonly<Record<string, string>>;
  /** Files that the test wrote there although it may not, or undefined. */
  problem(): string | undefined;
  remove(): void;
}>;

const TRAP = '<a test read the home directory; set HOME and XDG_CONFIG_HOME for the process it starts>\n';
/** Third-party programs keep their caches here. */
const OF_OTHERS: readonly string[] = ['.cache', '.config', '.local', '.npm', '.pki'];

export const createTestHome = (dir: string): TestHome => {
  const config = join(dir, '.config');
  const trap = join(config, 'gpuaas', 'config.toml');
  mkdirSync(dirname(trap), { recursive: true, mode: 0o700 });
  writeFileSync(trap, TRAP, { mode: 0o600 });
  return {
    env: {
      HOME: dir,
      XDG_CONFIG_HOME: config,
      XDG_CACHE_HOME: join(dir, '.cache'),
      XDG_DATA_HOME: join(dir, '.local', 'share'),
      XDG_STATE_HOME: join(dir, '.local', 'state'),
    },
    problem: () => {
      const isTrapIntact = existsSync(trap) && readFileSync(trap, 'utf8') === TRAP;
      const profiles = existsSync(dirname(trap)) ? readdirSync(dirname(trap)) : [];
      const written = [
        ...readdirSync(dir).filter((name) => !OF_OTHERS.includes(name)),
        ...profiles.filter((name) => name !== 'config.toml').map((name) => join('.config', 'gpuaas', name)),
        ...(isTrapIntact ? [] : [join('.config', 'gpuaas', 'config.toml')]),
      ];
      return written.length > 0 ? `wrote into the home directory: ${written.join(', ')}` : undefined;
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
};
