/**
 * Tenant access to simulated VMs. Each connection is served inside this process: nothing listens, and the computer that
 * runs the simulation is not reachable. A host without connections has neither timer nor server; with connections, the
 * host is checked about once a second for VMs that ended.
 */
import { type Duplex, duplexPair } from 'node:stream';
import { type Access, HostError } from '../host.ts';
import { createFiles, type Files } from './access-files.ts';
import { GUEST_USERNAME, type Inside, insideGuest, insideHost } from './access-guest.ts';
import { PAGE_PORT, servePage } from './access-page.ts';
import { createSerial, type Serial } from './access-serial.ts';
import { type SshServer, serveSsh } from './access-ssh.ts';
import type { Core } from './core.ts';
import { domainNames } from './domain-check.ts';
import { getManaged, hostKeyName, isUp } from './hypervisor.ts';
import { sshPairOf } from './identity.ts';
import type { SimDomain } from './state.ts';

const SSH_PORT = 22;
const LOOK_MS = 1000;

type Live = Readonly<{ isOver: () => boolean; end: () => void }>;

/** Aborted by the signal, whatever the work does. */
const orAborted = <T>(work: Promise<T>, signal: AbortSignal, late: (value: T) => void = () => undefined): Promise<T> =>
  new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new HostError('timeout', 'The request was cancelled.'));
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    work
      .then((value) => {
        if (signal.aborted) late(value);
        else resolve(value);
      }, reject)
      .finally(() => signal.removeEventListener('abort', giveUp));
  });

const blocked = (message: string): HostError => new HostError('blocked', message);

const getUp = (core: Core, name: string): SimDomain => {
  const domain = getManaged(core, name);
  if (domain === undefined) throw new HostError('drift', `There is no VM ${name} on this host.`);
  if (domain.state !== 'running') throw blocked('The VM is off.');
  if (!isUp(core, domain)) throw blocked('The VM has not booted.');
  return domain;
};

/** The VM that has the address by a DHCP lease; nothing else responds there. */
const getAt = (core: Core, address: string): SimDomain => {
  const { domains, ports } = core.store.read();
  const domain = domains.find((one) => one.plan?.private_ip === address);
  if (domain === undefined) throw blocked(`No VM of this host has the address ${address}.`);
  getUp(core, domain.name);
  const names = domainNames(domain);
  const isReached =
    ports.some((port) => port.private_ip === address && port.mac_address === domain.plan?.mac_address) &&
    (['no_lease', 'wrong_lease', 'mac_conflict'] as const).every((state) => core.fault(state, ...names) === undefined);
  if (!isReached) throw blocked('The VM runs and does not respond on its network. Check its console.');
  return domain;
};

export const createAccess = (core: Core): Access => {
  const lines = new Map<string, Serial>();
  const disks = new Map<string, Files>();
  const live = new Set<Live>();
  let timer: NodeJS.Timeout | null = null;

  const look = (): void => {
    core.store.refresh();
    for (const one of live) if (one.isOver()) one.end();
  };
  /** The returned function is called when no client is connected any more. */
  const watch = (one: Live): (() => void) => {
    live.add(one);
    timer ??= setInterval(look, LOOK_MS).unref();
    return () => {
      live.delete(one);
      if (live.size > 0 || timer === null) return;
      clearInterval(timer);
      timer = null;
    };
  };

  /** Files last as long as the system they were written to. */
  const filesOf = (key: string, username: string): Files => {
    const found = disks.get(key) ?? createFiles(username);
    disks.set(key, found);
    return found;
  };
  const guestInside = (domain: SimDomain): Inside =>
    insideGuest(core, domain, filesOf(hostKeyName(core, domain).join(), GUEST_USERNAME));

  const guestServer = (name: string): Omit<SshServer, 'connect'> & Readonly<{ hostname: string }> => {
    const domain = getUp(core, name);
    return {
      hostname: domain.hostname ?? name,
      private_key: sshPairOf(...hostKeyName(core, domain)).private_key,
      login: (username) => {
        core.store.refresh();
        const now = core.store.read().domains.find((one) => one.name === name);
        if (now === undefined || username !== GUEST_USERNAME) return null;
        return { ssh_public_keys: now.ssh_public_keys ?? [], inside: guestInside(now) };
      },
    };
  };
  const hostServer = (): Omit<SshServer, 'connect'> & Readonly<{ hostname: string }> => ({
    hostname: core.name,
    private_key: sshPairOf(core.name, 'host').private_key,
    login: (username) => {
      core.store.refresh();
      const { users } = core.store.read();
      const user = Object.hasOwn(users, username) ? users[username] : undefined;
      if (user === undefined) return null;
      return {
        ssh_public_keys: user.ssh_public_keys,
        inside: insideHost(core, username, filesOf(`account:${username}`, username)),
      };
    },
  });

  const connect = (door: ReturnType<typeof hostServer>, port: number): Duplex | null => {
    if (port !== SSH_PORT && port !== PAGE_PORT) return null;
    const [ours, theirs] = duplexPair();
    ours.on('error', () => undefined);
    const served =
      port === PAGE_PORT
        ? servePage(ours, door.hostname)
        : serveSsh(ours, { ...door, connect: (other) => (other === SSH_PORT ? null : connect(door, other)) });
    served.catch((err: unknown) => ours.destroy(err instanceof Error ? err : undefined));
    // Closing either end closes the other, as with a socket.
    ours.once('close', () => theirs.destroy());
    theirs.once('close', () => ours.destroy());
    return theirs;
  };

  /** Until it reboots, is powered off or is removed. */
  const isSameBoot = (domain: SimDomain) => (): boolean => {
    const now = core.store.read().domains.find((one) => one.name === domain.name);
    return core.store.read().is_on && now?.state === 'running' && now.started_at === domain.started_at;
  };

  const dial = ({ address, port }: Parameters<Access['dial']>[0]): Duplex => {
    const domain = address === null ? null : getAt(core, address);
    const bootId = core.store.read().boot.id;
    const isSame =
      domain === null ? () => core.store.read().is_on && core.store.read().boot.id === bootId : isSameBoot(domain);
    const socket = connect(domain === null ? hostServer() : guestServer(domain.name), port);
    if (socket === null) throw blocked(`Nothing listens on port ${port} of the VM: connection refused.`);
    socket.once('close', watch({ isOver: () => !isSame(), end: () => socket.destroy() }));
    return socket;
  };

  const updateLine = (name: string, serial: Serial): boolean => {
    const domain = core.store.read().domains.find((one) => one.name === name);
    const isOn = core.store.read().is_on && domain?.state === 'running';
    if (!isOn) {
      serial.setBoot(null);
      return false;
    }
    const inside = guestInside(domain);
    serial.setBoot({
      hostname: inside.hostname,
      kernel: inside.kernel,
      gpus: inside.gpus.map((gpu) => gpu.address),
      has_system: domain.guest !== null,
      is_up: isUp(core, domain),
      id: domain.started_at ?? '',
    });
    return true;
  };
  const serial = (name: string): ReturnType<Serial['open']> => {
    const domain = getManaged(core, name);
    if (domain === undefined) throw new HostError('drift', `There is no VM ${name} on this host.`);
    if (domain.state !== 'running') throw blocked('The VM is off.');
    let line = lines.get(name);
    if (line === undefined) {
      const made = createSerial(() => {
        lines.delete(name);
        unwatch();
      });
      const unwatch = watch({ isOver: () => !updateLine(name, made), end: () => undefined });
      lines.set(name, made);
      line = made;
    }
    updateLine(name, line);
    return line.open();
  };

  const setGuestKeys = (name: string, keys: readonly string[]): void => {
    const domain = getUp(core, name);
    if (JSON.stringify(domain.ssh_public_keys) === JSON.stringify(keys)) return;
    core.store.change((state) => {
      const found = state.domains.find((one) => one.name === name);
      if (found !== undefined) found.ssh_public_keys = [...keys];
    });
  };

  const names = (isIt: (domain: SimDomain) => boolean): readonly string[] =>
    core.store.read().domains.filter(isIt).flatMap(domainNames);
  return {
    guest_username: GUEST_USERNAME,
    dial: (to, signal) => {
      const touched = to.address === null ? [] : names(({ plan }) => plan?.private_ip === to.address);
      const work = core.act('access.dial', touched, () => dial(to));
      return orAborted(work, signal, (socket) => socket.destroy());
    },
    serial: (name) =>
      core.act(
        'access.serial',
        names((one) => one.name === name),
        () => serial(name),
      ),
    setGuestKeys: (name, keys, signal) => {
      const touched = names((one) => one.name === name);
      return orAborted(
        core.act('access.setGuestKeys', touched, () => setGuestKeys(name, keys)),
        signal,
      );
    },
  };
};
