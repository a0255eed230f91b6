/**
 * The DHCP server of the bridge: a dedicated dnsmasq with one reservation per file. It keeps leases in memory and
 * writes them to a file; a lease is removed by stopping it, deleting the line and restarting it, which clients do not
 * notice.
 */
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pause } from '@gpuaas/kit';
import { readIfThere } from '../../control-plane/durable.ts';
import { dnsmasqConfig, type LeaseLine, leaseLines, readReservation, reservation } from '../../vm/dnsmasq.ts';
import type { Guest, PrivateNetwork } from '../../vm/private-network.ts';
import { HostError } from '../host.ts';
import { act, type NetworkConfig } from './network-config.ts';
import type { Run } from './run.ts';

export type AddressServer = Readonly<{
  /** Running with these settings. True if it had to be started. */
  ensure(): Promise<boolean>;
  stop(): Promise<void>;
  isRunning(): Promise<boolean>;
  reservations(): Promise<readonly Guest[]>;
  reserve(guest: Guest): Promise<void>;
  release(name: string): Promise<void>;
  leases(): Promise<readonly LeaseLine[]>;
  /** The number of removed leases. */
  forget(isGone: (lease: LeaseLine) => boolean): Promise<number>;
}>;

const POLL_MS = 10;
const STOP_MS = 5_000;

/** dnsmasq runs as its own user, who must be able to read this whatever the agent's umask is. */
const put = async (file: string, text: string): Promise<void> => {
  const beside = join(file, '..', `.${file.split('/').at(-1)}.new`);
  await writeFile(beside, text);
  await chmod(beside, 0o644);
  await rename(beside, file);
};

export const createAddressServer = (run: Run, config: NetworkConfig, network: PrivateNetwork): AddressServer => {
  const { folder, dns_servers, lease_s } = config;
  const files = { hosts: join(folder, 'hosts'), leases: join(folder, 'leases'), pid: join(folder, 'dnsmasq.pid') };
  const settings = join(folder, 'dnsmasq.conf');
  const wanted = dnsmasqConfig({ network, dns_servers, lease_s, files });

  /** The PID in its file, if that process still runs with these settings. */
  const findProcess = async (): Promise<number | null> => {
    const pid = Number((await readIfThere(files.pid))?.trim() || Number.NaN);
    if (!Number.isSafeInteger(pid) || pid <= 1) return null;
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return command.split('\0').includes(`--conf-file=${settings}`) ? pid : null;
  };
  const start = async (): Promise<void> => {
    await act(run, ['dnsmasq', `--conf-file=${settings}`]);
    if ((await findProcess()) === null) throw new HostError('host_error', 'the address server did not stay up');
  };
  const stop = async (): Promise<void> => {
    const pid = await findProcess();
    if (pid === null) return;
    process.kill(pid, 'SIGTERM');
    for (let waited = 0; (await findProcess()) !== null; waited += POLL_MS) {
      if (waited >= STOP_MS) process.kill(pid, 'SIGKILL');
      await pause(POLL_MS);
    }
  };
  const reread = async (): Promise<void> => {
    const pid = await findProcess();
    if (pid !== null) process.kill(pid, 'SIGHUP');
  };
  const leases = async (): Promise<readonly LeaseLine[]> => leaseLines((await readIfThere(files.leases)) ?? '');
  const reservationIn = async (name: string): Promise<Omit<Guest, 'name'> | null> =>
    readReservation((await readIfThere(join(files.hosts, name))) ?? '');

  return {
    leases,
    stop,
    isRunning: async () => (await findProcess()) !== null,
    ensure: async () => {
      for (const path of [folder, files.hosts]) {
        await mkdir(path, { recursive: true });
        await chmod(path, 0o755);
      }
      const isSame = (await readIfThere(settings)) === wanted;
      if (isSame && (await findProcess()) !== null) return false;
      await put(settings, wanted);
      await stop();
      await start();
      return true;
    },
    reservations: async () => {
      const names = await readdir(files.hosts).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw error;
      });
      const found = await Promise.all(
        names
          .filter((name) => !name.startsWith('.'))
          .map(async (name) => {
            const reserved = await reservationIn(name);
            return { name, mac_address: reserved?.mac_address ?? '', private_ip: reserved?.private_ip ?? '' };
          }),
      );
      return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
    reserve: async (guest) => {
      const file = join(files.hosts, guest.name);
      if ((await readIfThere(file)) === reservation(guest)) return;
      await put(file, reservation(guest));
      await reread();
    },
    release: async (name) => {
      await rm(join(files.hosts, name), { force: true });
      await reread();
    },
    forget: async (isGone) => {
      if (!(await leases()).some(isGone)) return 0;
      const wasRunning = (await findProcess()) !== null;
      await stop();
      const gone = (await leases()).filter(isGone).map(({ line }) => line);
      const kept = ((await readIfThere(files.leases)) ?? '').split('\n').filter((line) => !gone.includes(line));
      await put(files.leases, kept.join('\n'));
      if (wasRunning) await start();
      return gone.length;
    },
  };
};
