/** Address translation, and the kernel's connection tracking entries of a VM. */
import { isDeepStrictEqual } from 'node:util';
import { type NatGuest, NFT_FAMILIES, type NftState, nftExpected, nftRead, nftScript, nftTable } from '../../vm/nft.ts';
import type { PrivateNetwork } from '../../vm/private-network.ts';
import { HostError } from '../host.ts';
import { act } from './network-config.ts';
import { jsonOf, type Run } from './run.ts';

export type Nat = Readonly<{
  /** Writes the tables for exactly these VMs. True if they changed. */
  ensure(guests: readonly NatGuest[]): Promise<boolean>;
  /** Null: there are no tables. */
  read(): Promise<NftState | null>;
  remove(): Promise<void>;
  /** Removes all tracked connections of this address. Returns how many there were. */
  forget(ip: string): Promise<number>;
}>;

/** As source or destination, in the original or the reply direction. */
const SIDES = ['--src', '--dst', '--reply-src', '--reply-dst'] as const;

export const createNat = (run: Run, network: PrivateNetwork, uplink: string | null): Nat => {
  const table = nftTable(network.bridge);
  const list = async (family: string): Promise<unknown[]> => {
    const { status, stdout, stderr } = await run({
      argv: ['nft', '--json', 'list', 'table', family, table],
      recorded: 'nft-list-table.json',
    });
    if (status === 0) return [jsonOf(stdout, 'nft')];
    if (/No such file or directory/.test(stderr)) return [];
    throw new HostError('host_error', `nft could not list ${family} ${table}: ${stderr.trim().slice(0, 200)}`);
  };
  const read = async (): Promise<NftState | null> => {
    const listings = (await Promise.all(NFT_FAMILIES.map(list))).flat();
    return listings.length === 0 ? null : nftRead(listings);
  };
  const remembered = async (ip: string): Promise<number> => {
    let count = 0;
    for (const side of SIDES)
      count += (await act(run, ['conntrack', '--dump', side, ip])).split('\n').filter(Boolean).length;
    return count;
  };
  return {
    read,
    ensure: async (guests) => {
      const expected = nftExpected(network, uplink, guests);
      if (isDeepStrictEqual(await read(), expected)) return false;
      await act(run, ['nft', '--file', '-'], nftScript(network, uplink, guests));
      if (!isDeepStrictEqual(await read(), expected))
        throw new HostError('host_error', `the tables ${table} do not match what was written`);
      return true;
    },
    remove: async () => {
      for (const family of NFT_FAMILIES)
        if ((await list(family)).length > 0) await act(run, ['nft', 'delete', 'table', family, table]);
    },
    forget: async (ip) => {
      const before = await remembered(ip);
      if (before === 0) return 0;
      // It fails if nothing is left to delete; the tracked connections afterwards decide.
      for (const side of SIDES)
        await run({ argv: ['conntrack', '--delete', side, ip], recorded: 'conntrack-delete.txt' });
      if ((await remembered(ip)) > 0)
        throw new HostError('host_error', `the kernel still remembers connections of ${ip}`);
      return before;
    },
  };
};
