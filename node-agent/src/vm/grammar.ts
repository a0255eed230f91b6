/**
 * The grammar of everything that a tenant or an operator can name and that reaches a hypervisor, a guest OS or a
 * switch. Serializers escape their input; this refuses invalid values before that, so that a value missed by one is
 * still caught by the other.
 */
import { isIPv4 } from 'node:net';
import { HostError } from '../host/host.ts';

const refuse = (message: string): never => {
  throw new HostError('blocked', message);
};

/** An invalid value is shown as truncated JSON: it may contain anything. */
const shown = (value: string): string => JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);

const rule =
  (pattern: RegExp, what: string) =>
  (value: string): string =>
    pattern.test(value) ? value : refuse(`${shown(value)} is not ${what}`);

/** One label, as RFC 1123 has it. */
export const hostname = rule(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'a host name of small letters, digits and -');
export const username = rule(/^[a-z][a-z0-9-]{0,30}$/, 'a name of an account');
export const allocationId = rule(/^[a-z]{2,8}_[0-9a-z]{1,40}$/, 'an id of an allocation');
export const vmName = rule(/^gpuaas-[a-z0-9-]{1,50}$/, 'a name of a VM');
/** The kernel allows 15 characters. */
export const interfaceName = rule(/^[a-zA-Z][a-zA-Z0-9._-]{0,14}$/, 'a name of a network interface');
export const pciAddress = rule(/^[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$/, 'a PCI address');
export const pciId = rule(/^[0-9a-f]{4}:[0-9a-f]{4}$/, 'a vendor:device pair');
/** As libvirt and the virtio block device accept it. */
export const diskSerial = rule(/^[A-Za-z0-9_.+-]{1,20}$/, 'a serial number of a disk that a guest can be shown');
export const cpuList = rule(/^\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*$/, 'a list of CPUs');

/** Every component is a plain name: no parent directories. */
export const path = (value: string): string =>
  /^(?:\/[A-Za-z0-9_.+:@=-]+)+$/.test(value) && !value.split('/').some((step) => step === '.' || step === '..')
    ? value
    : refuse(`${shown(value)} is not an absolute path of plain names`);

/** A group address as a source would reach every port. */
export const macAddress = (value: string): string =>
  /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/.test(value) && (Number.parseInt(value.slice(0, 2), 16) & 1) === 0
    ? value
    : refuse(`${shown(value)} is not the MAC address of a VM`);

export const ipv4 = (value: string): string =>
  isIPv4(value) ? value : refuse(`${shown(value)} is not an IPv4 address`);

export type Network = Readonly<{ address: number; mask: number; prefix: number; text: string }>;

const numberOf = (ip: string): number => ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);

/** A network such as 10.100.0.0/24, written with its first address. */
export const ipv4Network = (value: string): Network => {
  const [ip = '', bits = '', ...rest] = value.split('/');
  const prefix = Number(bits);
  if (rest.length > 0 || !/^\d{1,2}$/.test(bits) || prefix > 32 || !isIPv4(ip))
    return refuse(`${shown(value)} is not an IPv4 network`);
  const mask = prefix === 0 ? 0 : (0xffffffff << (32 - prefix)) >>> 0;
  const address = numberOf(ip);
  return (address & mask) >>> 0 === address
    ? { address, mask, prefix, text: value }
    : refuse(`${shown(value)} is not the first address of its network`);
};

export const isInNetwork = (ip: string, network: Network): boolean =>
  (numberOf(ip) & network.mask) >>> 0 === network.address;

/** Of a readiness check: a word that is safe in a shell and in JSON, and readable. */
export const checkName = (value: string): string =>
  /^[a-z][a-z0-9_]{0,31}$/.test(value) ? value : refuse(`${shown(value)} is not the name of a check`);

const KEY_TYPES = [
  'ssh-ed25519',
  'sk-ssh-ed25519@openssh.com',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'sk-ecdsa-sha2-nistp256@openssh.com',
  'ssh-rsa',
];

/** Type and key only: options in front could force a command, and a comment is useless to a guest OS. */
export const sshPublicKey = (line: string): string => {
  const [, type, encoded] = /^([a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?: [\x20-\x7e]*)?$/.exec(line) ?? [];
  if (type === undefined || encoded === undefined || !KEY_TYPES.includes(type))
    return refuse(`${shown(line)} is not one public key as OpenSSH writes it`);
  const blob = Buffer.from(encoded, 'base64');
  const length = blob.length >= 4 ? blob.readUInt32BE(0) : -1;
  return blob.subarray(4, 4 + length).toString('latin1') === type
    ? `${type} ${encoded}`
    : refuse(`${shown(line)} is marked ${type}, but its key is of another type`);
};
