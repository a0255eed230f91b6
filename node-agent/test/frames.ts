/** Frames as a hostile VM would craft them. */
const bytesOf = (mac: string): Buffer => Buffer.from(mac.replaceAll(':', ''), 'hex');
const ipOf = (ip: string): Buffer => Buffer.from(ip.split('.').map(Number));
export const EVERYBODY = 'ff:ff:ff:ff:ff:ff';

const ethernet = (to: string, from: string, type: number, payload: Buffer): string =>
  Buffer.concat([bytesOf(to), bytesOf(from), Buffer.from([type >> 8, type & 255]), payload])
    .toString('hex')
    .padEnd(120, '0');

const sumOf = (data: Buffer): number => {
  let sum = 0;
  for (let at = 0; at < data.length; at += 2) sum += data.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
};

export type Addressed = Readonly<{ to: string; from: string; src: string; dst: string }>;

const ip4 = ({ to, from, src, dst }: Addressed, protocol: number, payload: Buffer): string => {
  const header = Buffer.alloc(20);
  header.writeUInt8(0x45, 0);
  header.writeUInt16BE(20 + payload.length, 2);
  header.writeUInt8(64, 8);
  header.writeUInt8(protocol, 9);
  ipOf(src).copy(header, 12);
  ipOf(dst).copy(header, 16);
  header.writeUInt16BE(sumOf(header), 10);
  return ethernet(to, from, 0x0800, Buffer.concat([header, payload]));
};

/** Without a checksum, which UDP allows. */
export const udp = (addressed: Addressed, sport: number, dport: number, data: string): string => {
  const payload = Buffer.concat([Buffer.alloc(8), Buffer.from(data)]);
  payload.writeUInt16BE(sport, 0);
  payload.writeUInt16BE(dport, 2);
  payload.writeUInt16BE(payload.length, 4);
  return ip4(addressed, 17, payload.length % 2 === 0 ? payload : Buffer.concat([payload, Buffer.alloc(1)]));
};

export const arp = (
  op: 'request' | 'reply',
  given: Readonly<{ to: string; from: string; sha: string; spa: string; tha: string; tpa: string }>,
): string =>
  ethernet(
    given.to,
    given.from,
    0x0806,
    Buffer.concat([
      Buffer.from([0, 1, 8, 0, 6, 4, 0, op === 'request' ? 1 : 2]),
      bytesOf(given.sha),
      ipOf(given.spa),
      bytesOf(given.tha),
      ipOf(given.tpa),
    ]),
  );

/** ICMPv6 to all nodes from a link-local address: 134 is a router's advertisement, 136 a neighbor's. */
export const icmp6 = (from: string, type: 134 | 136): string => {
  const body = Buffer.alloc(type === 134 ? 16 : 24);
  body.writeUInt8(type, 0);
  const source = Buffer.from('fe800000000000000000000000000001', 'hex');
  const all = Buffer.from('ff020000000000000000000000000001', 'hex');
  const pseudo = Buffer.concat([source, all, Buffer.from([0, 0, 0, body.length, 0, 0, 0, 58]), body]);
  body.writeUInt16BE(sumOf(pseudo), 2);
  const header = Buffer.from([0x60, 0, 0, 0, 0, body.length, 58, 255]);
  return ethernet('33:33:00:00:00:01', from, 0x86dd, Buffer.concat([header, source, all, body]));
};
