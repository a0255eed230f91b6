/** What of an allocation is on the host, found by system programs and not by the agent. */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { domainName, portName } from '../../../node-agent/src/tasks/names.ts';
import type { ComposedHost } from '../../../node-agent/test/composed-host.ts';

export type Held = Readonly<{ allocation_id: string; mac_address: string; private_ip: string }>;

/** Every remaining part of it, in words. */
export const tracesOf = async (host: ComposedHost, held: Held): Promise<readonly string[]> => {
  const { network, libvirt, config } = host;
  const name = domainName(held.allocation_id);
  const port = portName(held.allocation_id);
  const { folder } = network.config;
  const reservations = join(folder, 'hosts');
  const [domains, ports, flows, rules, leases, reserved, folders] = await Promise.all([
    libvirt.virsh('list', '--all', '--name'),
    network.vsctl('list-ports', network.config.bridge),
    network.ofctl('dump-flows', network.config.bridge),
    network.host.must('nft', 'list', 'ruleset'),
    readFile(join(folder, 'leases'), 'utf8').catch(() => ''),
    readdir(reservations)
      .then((names) => Promise.all(names.map((one) => readFile(join(reservations, one), 'utf8'))))
      .catch((): string[] => []),
    readdir(config.folder).catch((): string[] => []),
  ]);
  const has = (text: string, ...words: readonly string[]): boolean =>
    words.some((word) => text.toLowerCase().includes(word.toLowerCase()));
  return [
    domains.split('\n').includes(name) ? 'domain' : [],
    ports.split('\n').includes(port) ? 'port' : [],
    has(flows, held.mac_address, `${held.private_ip},`, `${held.private_ip} `) ? 'flows' : [],
    has(rules, `${held.private_ip} `, held.mac_address, port) ? 'rules' : [],
    has(leases, held.mac_address) ? 'lease' : [],
    reserved.some((text) => has(text, held.mac_address)) ? 'reservation' : [],
    folders.includes(name) ? 'seed' : [],
  ].flat();
};

/** How often these bytes are on the disk, read past every cache. */
export const countOnDrive = (host: ComposedHost, serial: string, text: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const device = host.loop.disks.blockOf(serial);
    const script =
      'blockdev --flushbufs "$1"; dd if="$1" bs=1M iflag=direct status=none | grep --text -o -F "$2" | wc -l';
    execFile('sh', ['-c', script, 'sh', device, text], (error, stdout) =>
      error === null ? resolve(Number(stdout)) : reject(error),
    );
  });
