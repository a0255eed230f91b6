/** The script of the guest OS runs unchanged, in the shells of guest images, with a socket in place of its port. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { describe, it, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import { requires } from '../../../tools/test/requires.ts';
import { KEY } from '../../test/vm.ts';
import { HostError } from '../host/host.ts';
import { authorizedKey, KEYS_BYTES_MAX, keysMessage, keysScript, keysText, SESSION_KEY_OPTIONS } from './guest-keys.ts';

/** A new key each time. */
const newKey = (): string => {
  const { publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const head = Buffer.from('0000000b7373682d6564323535313900000020', 'hex');
  return `ssh-ed25519 ${Buffer.concat([head, raw]).toString('base64')}`;
};

type Guest = Readonly<{
  /** The next line from the guest OS. */
  line(): Promise<string>;
  send(bytes: Buffer): void;
  told(keys: readonly string[], mark?: string): Promise<string>;
  keys(): readonly string[];
  file: string;
}>;

const openGuest = (
  t: TestContext,
  shell: readonly string[],
  had: readonly string[],
  launch: readonly string[],
): Guest => {
  const root = mkdtempSync(join(tmpdir(), 'gpuaas-keys-'));
  const ssh = join(root, 'home/ubuntu/.ssh');
  const file = join(ssh, 'authorized_keys');
  for (const folder of [ssh, join(root, 'etc'), join(root, 'dev/virtio-ports')]) mkdirSync(folder, { recursive: true });
  const { uid, gid } = statSync(root);
  writeFileSync(
    join(root, 'etc/passwd'),
    `root:x:0:0::/root:/bin/sh\nubuntu:x:${uid}:${gid}:a:${root}/home/ubuntu:/bin/sh\n`,
  );
  writeFileSync(join(root, 'dev/virtio-ports/org.gpuaas.keys'), '');
  // Without a final line break, as an editor may leave it.
  writeFileSync(file, had.join('\n'));
  const script = keysScript('ubuntu', launch)
    .replaceAll(/\/(etc\/passwd|etc\/gpuaas|dev\/virtio-ports|var\/lib\/cloud)/g, `${root}/$1`)
    .replace('exec 3<>"$port"', ':');
  const [program = 'sh', ...args] = shell;
  const child = spawn(program, [...args, '-s'], { stdio: ['pipe', 'inherit', 'inherit', 'pipe'] });
  const port = child.stdio[3] as Duplex;
  const ended = once(child, 'exit');
  t.after(async () => {
    port.destroy();
    child.kill('SIGKILL');
    await ended;
    rmSync(root, { recursive: true, force: true });
  });
  child.stdin?.end(script);
  const lines = createInterface({ input: port })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => String((await lines.next()).value);
  const told: Guest['told'] = async (keys, mark = '1f') => {
    assert.equal(await line(), 'ready');
    port.write(keysMessage(keys, mark).bytes);
    return line();
  };
  return {
    line,
    send: (bytes) => void port.write(bytes),
    told,
    keys: () => readFileSync(file, 'utf8').split('\n').filter(Boolean),
    file,
  };
};

const SHELLS = [['sh'], ...(requires('busybox') === false ? [['busybox', 'sh']] : [])];

for (const shell of SHELLS)
  describe(`the keys of a guest OS in ${shell.join(' ')}`, () => {
    const launch = newKey();
    const byHand = `${newKey()} me@laptop`;

    it('are the set of the platform, beside those that the tenant added', async (t) => {
      const guest = openGuest(t, shell, [launch, '# mine', byHand], [launch]);
      const [second, third] = [newKey(), newKey()];
      assert.equal(await guest.told([second, third]), keysMessage([second, third], '1f').confirmation);
      assert.deepEqual(guest.keys(), [second, third, '# mine', byHand]);
      assert.equal(statSync(guest.file).mode & 0o777, 0o600);
      await guest.told([third]);
      assert.deepEqual(guest.keys(), [third, '# mine', byHand]);
      await guest.told([]);
      assert.deepEqual(guest.keys(), ['# mine', byHand]);
      await guest.told([launch]);
      assert.deepEqual(guest.keys(), [launch, '# mine', byHand]);
      assert.equal(existsSync(`${guest.file}.gpuaas`), false);
    });

    it('stay unchanged while a set is incomplete, and the next complete one is installed', async (t) => {
      const guest = openGuest(t, shell, [launch], [launch]);
      const { bytes } = keysMessage([newKey()], 'ab');
      const broken = Buffer.from(bytes);
      broken[bytes.length - 5] = 0x41 + ((broken[bytes.length - 5] ?? 0) & 1);
      assert.equal(await guest.line(), 'ready');
      for (const wrong of [
        broken,
        Buffer.from('set ab 99999999 0\n'),
        Buffer.from('set $(reboot) 1 0\n'),
        Buffer.from('set ab -1 0\n'),
        Buffer.from('hello\n'),
        Buffer.from('\n'),
      ]) {
        guest.send(wrong);
        assert.equal(await guest.line(), 'ready');
        assert.deepEqual(guest.keys(), [launch]);
      }
      guest.send(bytes);
      assert.equal(
        await guest.line(),
        keysMessage([], 'ab').confirmation.replace(/\S+$/, bytes.toString().split(/[ \n]/)[3] ?? ''),
      );
    });

    it('may be as many as the platform allows', async (t) => {
      const guest = openGuest(t, shell, [], []);
      const keys = Array.from({ length: 100 }, newKey);
      assert.match(await guest.told(keys), /^done /);
      assert.deepEqual(guest.keys(), keys);
    });
  });

test('a line of the set is a key, or a session key after its options', () => {
  assert.equal(authorizedKey(`${KEY} comment`), KEY);
  assert.equal(authorizedKey(`${SESSION_KEY_OPTIONS} ${KEY} x`), `${SESSION_KEY_OPTIONS} ${KEY}`);
  assert.equal(keysText([KEY, `${KEY} twice`]), `${KEY}\n`);
  for (const line of [`command="x" ${KEY}`, `${SESSION_KEY_OPTIONS}`, `restrict ${KEY}`, `${KEY}\n${KEY}`])
    assert.throws(() => authorizedKey(line), HostError);
  const blob = Buffer.alloc(12_000);
  blob.writeUInt32BE(7);
  blob.write('ssh-rsa', 4);
  const long = Array.from({ length: 200 }, (_, at) => {
    blob.writeUInt32BE(at, 100);
    return `ssh-rsa ${blob.toString('base64')}`;
  });
  assert.throws(
    () => keysText(long),
    (err) => err instanceof HostError && err.message.includes(String(KEYS_BYTES_MAX)),
  );
});

test('no account and no key can add another line to the script', () => {
  const clean = keysScript('ubuntu', [KEY]).split('\n');
  const hostile = fc.oneof(
    fc.constantFrom(`x'; reboot; '`, '$(reboot)', 'KEYS', 'a\nKEYS\nreboot\n', '`reboot`', '../x'),
    fc.string({ unit: 'binary', maxLength: 30 }),
  );
  let kept = 0;
  fc.assert(
    fc.property(fc.oneof(hostile, fc.constant('ubuntu')), hostile, (account, value) => {
      let script: string;
      try {
        script = keysScript(account, [`${KEY} ${value}`]);
      } catch (err) {
        assert.ok(err instanceof HostError);
        return;
      }
      kept += 1;
      assert.equal(script.split('\n').length, clean.length);
      assert.deepEqual(
        script.split('\n').filter((line) => !line.startsWith("user='")),
        clean.filter((line) => !line.startsWith("user='")),
      );
      assert.match(script, /^user='[a-z][a-z0-9-]{0,30}'$/m);
    }),
    { numRuns: 300 },
  );
  assertReached({ kept });
});
