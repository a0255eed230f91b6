/** An ordinary OpenSSH client works with a simulated VM as with a real one, with a verified host key. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { requires } from '../../../../tools/test/requires.ts';
import { simSubject } from '../../../test/sim-subject.ts';
import { ALLOCATION, machineOf, prepare, slotAt } from '../contract/subject.ts';
import { sshPairOf } from './identity.ts';
import { createSimHost } from './sim-host.ts';

const dir = await mkdtemp(join(tmpdir(), 'sim-openssh-'));
after(() => rm(dir, { recursive: true, force: true }));

/** A VM behind a loopback port, with the files that an OpenSSH client needs. */
const open = async () => {
  const host = createSimHost({ dir: join(dir, 'host'), name: 'j22u15', profile: 'dell-xe9680-h200' });
  const subject = await simSubject(host);
  await prepare(subject, [slotAt(subject, 0)]);
  const key = sshPairOf('test', 'client');
  const base = machineOf([slotAt(subject, 0)]);
  const machine = { ...base, seed: { ...base.seed, hostname: 'train', ssh_public_keys: [key.public_key] } };
  const { ovs_port: name, mac_address, private_ip: address } = machine.plan;
  await host.network.attach({ name, mac_address, private_ip: address, allocation_id: ALLOCATION });
  await host.hypervisor.start(machine);
  const server = createServer((socket) => {
    void host.access?.dial({ address, port: 22 }, new AbortController().signal).then((inner) => {
      inner.on('error', () => socket.destroy());
      socket.on('error', () => inner.destroy());
      socket.pipe(inner).pipe(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const [identity, known] = [join(dir, 'id'), join(dir, 'known_hosts')];
  await writeFile(identity, key.private_key, { mode: 0o600 });
  await writeFile(known, `[127.0.0.1]:${port} ${(await host.hypervisor.guest(machine.name))?.ssh_host_key}\n`);
  const options = ['-F', 'none', '-i', identity, '-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${known}`];
  return { port, options: [...options, '-o', 'StrictHostKeyChecking=yes', '-o', 'IdentitiesOnly=yes'], known };
};

const ended = async (child: ChildProcess, input = '') => {
  let [out, err] = ['', ''];
  child.stdout?.on('data', (bytes) => {
    out += String(bytes);
  });
  child.stderr?.on('data', (bytes) => {
    err += String(bytes);
  });
  child.stdin?.end(input);
  const [code] = await once(child, 'close');
  return { code: Number(code), out, err };
};

test('OpenSSH runs commands, checks the host key, opens a terminal and copies files', {
  skip: requires('ssh'),
}, async () => {
  const { port, options, known } = await open();
  const ssh = (...args: readonly string[]) =>
    spawn('ssh', [...options, '-p', String(port), 'ubuntu@127.0.0.1', ...args]);
  assert.deepEqual(await ended(ssh('hostname; exit 3')), { code: 3, out: 'train\n', err: '' });
  assert.equal((await ended(ssh('cat'), 'héllo\n')).out, 'héllo\n');
  const typed = await ended(ssh('-tt'), 'whoami\rexit 5\r');
  assert.match(typed.out, /ubuntu@train:~\$ whoami\r\n.*\r\nubuntu\r\n/s);
  assert.equal(typed.code, 5);

  const bytes = randomBytes(8 * 1024 ** 2);
  const [there, back] = [join(dir, 'there'), join(dir, 'back')];
  await writeFile(there, bytes);
  const scp = (...args: readonly string[]) => ended(spawn('scp', [...options, '-P', String(port), ...args]));
  assert.deepEqual(await scp(there, 'ubuntu@127.0.0.1:data.bin'), { code: 0, out: '', err: '' });
  const hash = createHash('sha256').update(bytes).digest('hex');
  assert.equal((await ended(ssh('sha256sum data.bin'))).out, `${hash}  data.bin\n`);
  assert.equal((await scp('ubuntu@127.0.0.1:data.bin', back)).code, 0);
  assert.ok((await readFile(back)).equals(bytes));

  await writeFile(known, `[127.0.0.1]:${port} ${sshPairOf('another').public_key}\n`);
  const refused = await ended(ssh('hostname'));
  assert.equal(refused.code, 255);
  assert.match(refused.err, /HOST IDENTIFICATION HAS CHANGED/);
});
