/**
 * Says what `tools/install.sh` has to do. Plain JavaScript for any Node that npm runs on, because Node 24 itself is one
 * of the packages to install.
 *
 *   node state.mjs installed     exits 0 when node_modules holds exactly what the lockfile names
 *   node state.mjs scripts       prints the installed packages whose install scripts are allowed, with their versions
 *   node state.mjs unverified    prints the packages for this platform that have no digest in the lockfile
 */
import { existsSync, readFileSync } from 'node:fs';

const readJson = (file) => JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'));
/** As in tools/check/lockfile.ts. */
const DIGEST = /^sha512-[A-Za-z0-9+/]{86}==$/;
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

const includes = (words, ours) =>
  words === undefined ||
  (!words.includes(`!${ours}`) && (words.includes(ours) || words.every((one) => one[0] === '!')));

/** npm cannot compare these with anything. The lockfile has none for Linux x64 with glibc; `make check` ensures it. */
const unverified = ({ platform, arch, libc }) =>
  Object.entries(readJson('package-lock.json').packages)
    .filter(([path, one]) => path.includes('node_modules/') && one.link !== true && !DIGEST.test(one.integrity ?? ''))
    .filter(([, one]) => includes(one.os, platform) && includes(one.cpu, arch))
    .filter(([, one]) => platform !== 'linux' || includes(one.libc, libc))
    .map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`);

const [os = process.platform, arch = process.arch] = process.argv.slice(3);
const libc = process.report?.getReport?.().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';

switch (process.argv[2]) {
  case 'installed':
    process.exitCode = isInstalled() ? 0 : 1;
    break;
  case 'scripts':
    for (const spec of allowedScripts()) console.log(spec);
    break;
  case 'unverified':
    for (const spec of unverified({ platform: os, arch, libc })) console.log(spec);
    break;
  default:
    console.error('usage: state.mjs installed|scripts|unverified [platform] [architecture]');
    process.exitCode = 2;
}
