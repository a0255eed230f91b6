/**
 * Says what `tools/install.sh` has to do. Plain JavaScript for any Node that npm runs on, because Node 24 itself is one
 * of the packages to install.
 *
 *   node state.mjs installed     exits 0 when node_modules holds exactly what the lockfile names
 *   node state.mjs scripts       prints the installed packages whose install scripts are allowed, with their versions
 */
import { existsSync, readFileSync } from 'node:fs';

const readJson = (file) => JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'));
const HIDDEN_LOCK = 'node_modules/.package-lock.json';

/** npm writes this file last, so it also tells a broken install from a finished one. */
const isInstalled = () => {
  if (!existsSync(new URL(`../../${HIDDEN_LOCK}`, import.meta.url))) return false;
  const wanted = readJson('package-lock.json').packages;
  const found = readJson(HIDDEN_LOCK).packages;
  const isSame = (a, b) => a?.version === b?.version && a?.integrity === b?.integrity && a?.link === b?.link;
  const paths = (packages) => Object.keys(packages).filter((path) => path.includes('node_modules/'));
  return (
    paths(found).every((path) => isSame(wanted[path], found[path])) &&
    paths(wanted).every((path) => found[path] !== undefined || wanted[path].optional || wanted[path].devOptional)
  );
};

const allowedScripts = () => {
  const { allowScripts = {} } = readJson('package.json');
  const found = readJson(HIDDEN_LOCK).packages;
  return Object.keys(allowScripts)
    .filter((name) => allowScripts[name] === true && found[`node_modules/${name}`] !== undefined)
    .map((name) => `${name}@${found[`node_modules/${name}`].version}`);
};

switch (process.argv[2]) {
  case 'installed':
    process.exitCode = isInstalled() ? 0 : 1;
    break;
  case 'scripts':
    for (const spec of allowedScripts()) console.log(spec);
    break;
  default:
    console.error('usage: state.mjs installed|scripts');
    process.exitCode = 2;
}
