/**
 * Every VM on the host with the host devices it uses, managed or not, and leftovers of removed VMs. An unmanaged VM may
 * name a disk by any path, so each path is reported as written and as resolved.
 */
import { readdir, realpath } from 'node:fs/promises';
import type { ParsedDomain } from '../../vm/domain-read.ts';
import { HostError, type Hypervisor, type SeenDomain } from '../host.ts';
import type { KnownDomain } from './hypervisor-virsh.ts';

/** The naming scheme of managed VMs; see tasks/names.ts. */
const OURS = /^gpuaas-alc-[0-9a-z]+$/;

const pathsOf = async (path: string): Promise<readonly string[]> => {
  const end = await realpath(path).catch(() => path);
  return end === path ? [path] : [path, end];
};

const devicesOf = async (parsed: ParsedDomain): Promise<readonly string[]> => {
  const paths = await Promise.all(parsed.sources.filter((source) => source.startsWith('/dev/')).map(pathsOf));
  return [
    ...new Set([
      ...parsed.hostdevs.map(({ address }) => address),
      ...parsed.stand_ins,
      ...parsed.drives.flatMap(({ serial, device }) => [...(serial === null ? [] : [serial]), device]),
      ...paths.flat(),
    ]),
  ];
};

const seenOf = async ({ parsed, state, ended_by }: KnownDomain): Promise<SeenDomain> => ({
  name: parsed.name ?? '',
  allocation_id: parsed.allocation_id,
  state,
  devices: await devicesOf(parsed),
  ended_by: ended_by ?? null,
});

const foldersIn = async (folder: string): Promise<readonly string[]> => {
  try {
    return await readdir(folder);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw new HostError('host_error', `${folder} could not be read.`, { cause: error });
  }
};

/** Managed VMs that have files here, whether or not libvirt lists them. */
export const managedIn = async (folder: string): Promise<readonly string[]> =>
  (await foldersIn(folder)).filter((name) => OURS.test(name)).sort();

export const inspectVms = async (known: readonly KnownDomain[], folder: string): ReturnType<Hypervisor['inspect']> => {
  const domains = await Promise.all(known.map(seenOf));
  const names = new Set(domains.map(({ name }) => name));
  const leftovers = (await managedIn(folder)).filter((name) => !names.has(name));
  return { domains, leftovers };
};
