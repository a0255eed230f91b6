/** Every package of the lockfile, of every platform, has a digest, so that the installed packages are the reviewed ones. */
import { type LockedPackages, nameOf, readLockfile } from '../lockfile/lockfile.ts';
import { type Check, verdict } from './check.ts';

const DIGEST = /^sha512-[A-Za-z0-9+/]{86}==$/;

const isPackage = (path: string): boolean => path.includes('node_modules/');

export const withoutDigest = (packages: LockedPackages): string[] =>
  Object.entries(packages)
    .filter(([path, one]) => isPackage(path) && one.link !== true && !DIGEST.test(one.integrity ?? ''))
    .map(([path, { version }]) => `${nameOf(path)}@${version} has no SHA-512 digest in package-lock.json`);

export const lockfileDigests: Check = {
  name: 'digests of packages',
  run: async () => {
    const packages = await readLockfile();
    return verdict(withoutDigest(packages), `${Object.keys(packages).filter(isPackage).length} packages`);
  },
};
