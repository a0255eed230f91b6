/**
 * Every package of the lockfile has a digest, so that the installed packages are the reviewed ones. Excepted are
 * development tools for other platforms than Linux x64: nothing is built, tested or shipped with them, and there
 * `tools/install.sh` refuses them until the person accepts them.
 */
import { type LockedPackage, type LockedPackages, nameOf, readLockfile } from '../lockfile/lockfile.ts';
import { type Check, verdict } from './check.ts';

const DIGEST = /^sha512-[A-Za-z0-9+/]{86}==$/;

const excludes = (words: readonly string[] | undefined, ours: string): boolean =>
  words !== undefined &&
  (words.includes(`!${ours}`) || !(words.includes(ours) || words.every((one) => one[0] === '!')));

/** A development tool that npm does not install on Linux x64. */
const isElsewhere = ({ dev, optional, os, cpu, libc }: LockedPackage): boolean =>
  dev === true && optional === true && (excludes(os, 'linux') || excludes(cpu, 'x64') || excludes(libc, 'glibc'));

export type Undigested = Readonly<{ refused: readonly string[]; elsewhere: readonly string[] }>;

export const withoutDigest = (packages: LockedPackages): Undigested => {
  const lacking = Object.entries(packages).filter(
    ([path, one]) => path.includes('node_modules/') && one.link !== true && !DIGEST.test(one.integrity ?? ''),
  );
  const names = (wanted: boolean) =>
    lacking
      .filter(([, one]) => isElsewhere(one) === wanted)
      .map(([path, { version }]) => `${nameOf(path)}@${version} has no SHA-512 digest in package-lock.json`);
  return { refused: names(false), elsewhere: names(true) };
};

export const lockfileDigests: Check = {
  name: 'digests of packages',
  run: async () => {
    const packages = await readLockfile();
    const { refused, elsewhere } = withoutDigest(packages);
    const count = Object.keys(packages).filter((path) => path.includes('node_modules/')).length;
    return verdict(
      refused,
      `${count - elsewhere.length} packages; ${elsewhere.length} tools of other platforms have no digest yet`,
    );
  },
};
