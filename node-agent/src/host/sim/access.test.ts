/**
 * A tenant of a simulated VM sees what a real one has: the tenant's key opens it, and the computer behind it is
 * unreachable.
 */
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import ssh2, { type Client, type ClientChannel, type ConnectConfig } from 'ssh2';
import { simSubject } from '../../../test/sim-subject.ts';
import { ALLOCATION, machineOf, prepare, refuses } from '../contract/subject.ts';
import type { SerialLine } from '../host.ts';
import { addFault } from './fault.ts';
import { sshPairOf } from './identity.ts';
import { createSimHost } from './sim-host.ts';

const root = await mkdtemp(join(tmpdir(), 'sim-access-'));
after(() => rm(root, { recursive: true, force: true }));
let count = 0;
const mine = sshPairOf('test', 'mine');
const other = sshPairOf('test', 'other');
const patience = new AbortController().signal;

const open = async (install?: number) => {
  count += 1;
  const dir = join(root, `host-${count}`);
  const host = createSimHost({ dir, name: 'j22u15', profile: 'dell-xe9680-h200' });
  const subject = await simSubject(host);
  const slots = subject.slots.slice(0, 2);
  await prepare(subject, slots);
  const base = machineOf(slots);
  const seed = { ...base.seed, hostname: 'train', ssh_public_keys: [mine.public_key] };
  const machine = { ...base, seed: install === undefined ? seed : { ...seed, install } };
  const { ovs_port: name, mac_address, private_ip: address } = machine.plan;
  await host.network.attach({ name, mac_address, private_ip: address, allocation_id: ALLOCATION });
  await host.hypervisor.start(machine);
  const { access } = host;
  assert.ok(access);
  return { host, machine, access, address };
};
type Opened = Awaited<ReturnType<typeof open>>;

/** Logged in, or the error that prevented it. */
const login = async (
  { access, address }: Pick<Opened, 'access'> & Readonly<{ address: string | null }>,
  options: Partial<ConnectConfig> = {},
): Promise<Client> => {
  const sock = await access.dial({ address, port: 22 }, patience);
  const client = new ssh2.Client();
  client.connect({ sock, username: 'ubuntu', privateKey: mine.private_key, ...options });
  await once(client, 'ready');
  client.on('error', () => undefined);
  return client;
};

const exec = async (client: Client, command: string, input: Buffer | string = '') => {
  const channel = await new Promise<ClientChannel>((resolve, reject) => {
    client.exec(command, (err, found) => (err === undefined ? resolve(found) : reject(err)));
  });
  let [out, err] = ['', ''];
  channel.on('data', (bytes: Buffer) => {
    out += bytes.toString('latin1');
  });
  channel.stderr.on('data', (bytes: Buffer) => {
    err += bytes.toString();
  });
  channel.end(input);
  const [code] = await once(channel, 'close');
  return { code: Number(code), out, err };
};

const shellOf = async (client: Client) => {
  const channel = await new Promise<ClientChannel>((resolve, reject) => {
    client.shell({ cols: 80, rows: 24, term: 'xterm-256color' }, (err, found) =>
      err === undefined ? resolve(found) : reject(err),
    );
  });
  let seen = '';
  channel.on('data', (bytes: Buffer) => {
    seen += bytes.toString();
  });
  /** The output up to the given text, which is consumed. */
  const until = async (words: string): Promise<string> => {
    while (!seen.includes(words)) await once(channel, 'data');
    const end = seen.indexOf(words) + words.length;
    const text = seen.slice(0, end);
    seen = seen.slice(end);
    return text;
  };
  return { channel, until };
};
const PROMPT = 'ubuntu@train:~$ ';

/** Reads continuously, as a terminal does; returns the output up to the given text, which is consumed. */
const readerOf = ({ output }: SerialLine) => {
  let seen = '';
  output.on('data', (bytes) => {
    seen += String(bytes);
  });
  return async (words: string): Promise<string> => {
    while (!seen.includes(words)) await once(output, 'data');
    const end = seen.indexOf(words) + words.length;
    const text = seen.slice(0, end);
    seen = seen.slice(end);
    return text;
  };
};

test('the host key seen by a client is the one the guest OS reports, also after a reinstall', async () => {
  const reported: string[] = [];
  for (const install of [undefined, 1]) {
    const opened = await open(install);
    const seen: string[] = [];
    const hostVerifier = (key: Buffer): boolean => {
      seen.push(`ssh-ed25519 ${key.toString('base64')}`);
      return true;
    };
    const client = await login(opened, { hostVerifier });
    client.end();
    const report = await opened.host.hypervisor.guest(opened.machine.name);
    assert.deepEqual(seen, [report?.ssh_host_key]);
    reported.push(...seen);
  }
  assert.equal(new Set(reported).size, 2);
});

test('only a key of the current set, and only for the account, opens a session', async () => {
  const opened = await open();
  const { access, machine } = opened;
  const isOut = (options: Partial<ConnectConfig>) => assert.rejects(login(opened, options), /authentication methods/);
  await isOut({ privateKey: other.private_key });
  await isOut({ username: 'root' });
  await isOut({ username: 'constructor' });
  await assert.rejects(login(opened, { privateKey: undefined, password: 'ubuntu' } as never), /authentication methods/);
  for (let times = 0; times < 2; times++) await access.setGuestKeys(machine.name, [other.public_key], patience);
  await isOut({});
  const client = await login(opened, { privateKey: other.private_key });
  assert.equal((await exec(client, 'whoami')).out, 'ubuntu\n');
  client.end();
});

test('an RSA key works as well', async () => {
  const opened = await open();
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const parsed = ssh2.utils.parseKey(privateKey);
  assert.ok(!(parsed instanceof Error));
  const line = `ssh-rsa ${parsed.getPublicSSH().toString('base64')} me`;
  await opened.access.setGuestKeys(opened.machine.name, [line], patience);
  (await login(opened, { privateKey })).end();
});

test('the account of a bare-metal node can log in, and is logged out when it is removed', async () => {
  const { host, access } = await open();
  await host.system.ensureUser({ username: 'tenant-a', ssh_public_keys: [mine.public_key] });
  const seen: string[] = [];
  const client = await login(
    { access, address: null },
    {
      username: 'tenant-a',
      hostVerifier: (key: Buffer) => seen.push(`ssh-ed25519 ${key.toString('base64')}`) > 0,
    },
  );
  assert.equal(
    (await exec(client, 'hostname; whoami; nvidia-smi -L | wc -c')).out.split('\n').slice(0, 2).join(),
    'j22u15,tenant-a',
  );
  assert.deepEqual(seen, [await host.system.sshHostKey()]);
  client.end();
  await host.system.removeUser('tenant-a');
  await assert.rejects(login({ access, address: null }, { username: 'tenant-a' }), /authentication methods/);
});

test('a command returns its output, its errors and its exit code', async () => {
  const opened = await open();
  const client = await login(opened);
  const ends = async (command: string, input?: string) => {
    const { code, out, err } = await exec(client, command, input);
    return [code, out, err];
  };
  assert.deepEqual(await ends('hostname'), [0, 'train\n', '']);
  assert.deepEqual(await ends('exit 7'), [7, '', '']);
  assert.deepEqual(await ends('false || echo "it is $?"'), [0, 'it is 1\n', '']);
  assert.deepEqual(await ends('true && false; echo $?'), [0, '1\n', '']);
  assert.deepEqual(await ends('echo out; echo err >&2; exit 7'), [7, 'out\n', 'err\n']);
  assert.deepEqual(await ends('rm-rf /'), [127, '', 'bash: rm-rf: command not found\n']);
  assert.deepEqual(await ends('toString'), [127, '', 'bash: toString: command not found\n']);
  assert.deepEqual(await ends("echo 'open"), [2, '', "bash: unexpected EOF while looking for matching `''\n"]);
  assert.deepEqual(await ends('cat /etc/passwd'), [1, '', 'cat: /etc/passwd: No such file or directory\n']);
  assert.deepEqual(await ends('yes | true'), [0, '', '']);
  assert.deepEqual(await ends('cat > a; cat < a | wc -c', 'hello'), [0, '5\n', '']);
  assert.equal((await exec(client, 'nvidia-smi -L')).out.match(/^GPU \d: NVIDIA H200 \(UUID: GPU-/gm)?.length, 2);
  assert.match((await exec(client, 'nvidia-smi')).out, /143771MiB/);
  assert.match((await exec(client, 'uname -a')).out, /^Linux train 6/);
  client.end();
});

test('bytes pass unchanged in both directions', async () => {
  const opened = await open();
  const client = await login(opened);
  const bytes = randomBytes(4 * 1024 ** 2);
  const hash = createHash('sha256').update(bytes).digest('hex');
  assert.equal((await exec(client, 'sha256sum', bytes)).out, `${hash}  -\n`);
  const { out } = await exec(client, 'cat', bytes);
  assert.equal(createHash('sha256').update(Buffer.from(out, 'latin1')).digest('hex'), hash);
  client.end();
});

test('a terminal echoes, edits, interrupts, follows its size and ends', async () => {
  const opened = await open();
  const client = await login(opened);
  const { channel, until } = await shellOf(client);
  assert.match(await until(PROMPT), /Welcome to train/);
  channel.write('hostnamx\x7fe\x1b[A\r');
  assert.equal(await until(PROMPT), `hostnamx\b \be\r\ntrain\r\n${PROMPT}`);
  channel.setWindow(40, 132, 0, 0);
  channel.write('stty size\r');
  assert.match(await until(PROMPT), /40 132\r\n/);
  channel.write('echo grüße 世界\r');
  assert.match(await until(PROMPT), /\r\ngrüße 世界\r\n/);
  channel.write('sleep 1000\r');
  await until('sleep 1000\r\n');
  channel.write('\x03');
  await until(PROMPT);
  channel.write('echo $?\r');
  assert.match(await until(PROMPT), /\r\n130\r\n/);
  channel.write('half a line\x03');
  assert.match(await until(PROMPT), /\^C\r\n/);
  channel.write('cat\rone\r\x04');
  assert.match(await until(PROMPT), /one\r\none\r\n/);
  channel.write('false\r');
  await until(PROMPT);
  channel.write('\x04');
  const [code] = await once(channel, 'close');
  assert.equal(code, 1);
  client.end();
});

test('files are copied in and out, and are lost on reinstallation', async () => {
  const opened = await open();
  const client = await login(opened);
  const sftp = await new Promise<ssh2.SFTPWrapper>((resolve, reject) => {
    client.sftp((err, found) => (err === undefined ? resolve(found) : reject(err)));
  });
  const bytes = randomBytes(300_000);
  await new Promise<void>((resolve, reject) => {
    sftp.writeFile('data.bin', bytes, (err) => (err == null ? resolve() : reject(err)));
  });
  const back = await new Promise<Buffer>((resolve, reject) => {
    sftp.readFile('data.bin', (err, found) => (err == null ? resolve(found) : reject(err)));
  });
  assert.ok(back.equals(bytes));
  assert.equal((await exec(client, 'ls')).out, 'data.bin\n');
  client.end();
  const again = await login(opened);
  assert.equal((await exec(again, 'wc -c data.bin')).out, '300000\n');
  again.end();
});

test('a web page is served at one port, for the host and through SSH', async () => {
  const { access, address, ...rest } = await open();
  const ask = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
  const read = async (stream: NodeJS.ReadWriteStream): Promise<string> => {
    let text = '';
    stream.on('data', (bytes) => {
      text += String(bytes);
    });
    stream.write(ask);
    await once(stream, 'end');
    return text;
  };
  assert.match(await read(await access.dial({ address, port: 8888 }, patience)), /^HTTP\/1\.1 200.*train/s);
  await refuses(access.dial({ address, port: 80 }, patience), 'blocked');
  const client = await login({ access, address, ...rest });
  const through = await new Promise<ClientChannel>((resolve, reject) => {
    client.forwardOut('127.0.0.1', 1, 'localhost', 8888, (err, found) => (err == null ? resolve(found) : reject(err)));
  });
  assert.match(await read(through), /^HTTP\/1\.1 200/);
  await assert.rejects(
    new Promise((resolve, reject) => {
      client.forwardOut('127.0.0.1', 1, '10.0.0.1', 8888, (err, found) => (err == null ? resolve(found) : reject(err)));
    }),
  );
  client.end();
});

test('a VM that powers off ends its connections and its console', async () => {
  const { host, machine, access, address } = await open();
  const socket = await access.dial({ address, port: 22 }, patience);
  const line = await access.serial(machine.name);
  line.output.resume();
  const over = [once(socket, 'close'), once(line.output, 'end')];
  await host.hypervisor.stop(machine.name, 0);
  await Promise.all(over);
});

test('the console shows the boot to all viewers and allows no login', async () => {
  const { machine, access } = await open();
  const one = await access.serial(machine.name);
  const two = await access.serial(machine.name);
  const readers = [readerOf(one), readerOf(two)];
  for (const read of readers) assert.match(await read('train login: '), /Linux version 6/);
  await one.write(Buffer.from('root\rsecret\r'));
  for (const read of readers) {
    const seen = await read('incorrect');
    assert.match(seen, /root\r\nPassword: \r\n\r\nLogin incorrect/);
  }
  one.close();
  two.close();
});

test('a VM without a network refuses SSH and still has its console', async () => {
  const { host, machine, access, address } = await open();
  addFault(host.dir, { state: 'no_lease' });
  await refuses(access.dial({ address, port: 22 }, patience), 'blocked');
  const line = await access.serial(machine.name);
  await readerOf(line)('login: ');
  line.close();
});

test('a hanging dial is aborted with its signal', async () => {
  const { host, access, address } = await open();
  addFault(host.dir, { when: 'access.dial', do: 'hang' });
  const giveUp = new AbortController();
  const dialled = access.dial({ address, port: 22 }, giveUp.signal);
  giveUp.abort();
  await refuses(dialled, 'timeout');
});
