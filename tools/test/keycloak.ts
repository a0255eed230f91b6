/** Where the distribution of Keycloak is, for tests with a real issuer. `ensure-keycloak.sh` puts it there by Maven. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const KEYCLOAK_VERSION = readFileSync(new URL('keycloak-version', import.meta.url), 'utf8').trim();
const JAVA_MIN = 17;

export const KEYCLOAK_HOME = join(import.meta.dirname, `../../node_modules/.cache/keycloak-${KEYCLOAK_VERSION}`);

const hasJava = (): boolean => {
  const [, major] = /version "(\d+)/.exec(spawnSync('java', ['-version'], { encoding: 'utf8' }).stderr ?? '') ?? [];
  return Number(major ?? 0) >= JAVA_MIN;
};

/**
 * Another ecosystem than Debian's: where Java or Maven is missing, its absence may be skipped; where both are there, the
 * distribution must be.
 */
export const missingKeycloak = (): string | false => {
  if (!hasJava()) return `maven: Keycloak comes from a Maven repository and needs Java ${JAVA_MIN} or newer`;
  if (existsSync(join(KEYCLOAK_HOME, 'bin/kc.sh'))) return false;
  return spawnSync('mvn', ['--version']).status === 0
    ? 'keycloak: not fetched (tools/test/ensure-keycloak.sh)'
    : 'maven: Keycloak comes from a Maven repository, and this machine has no Maven';
};
