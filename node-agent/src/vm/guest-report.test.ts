import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { KEY } from '../../test/vm.ts';
import { HostError } from '../host/host.ts';
import { createReportReader, READINESS_PATH, REPORT_BYTES_MAX, REPORT_CHANNEL, reportScript } from './guest-report.ts';

const readReport = (bytes: Buffer) => createReportReader().read(bytes);
const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
const GOOD = { schema: 1, ssh_host_key: KEY, gpu_count: 2, checks: [] };

/** A guest OS of files: the script runs in it once instead of forever. */
const openGuest = (
  t: TestContext,
  files: Readonly<Record<string, string>>,
  checks: readonly string[] = [],
  own: readonly string[] = [],
): (() => Buffer) => {
  const root = mkdtempSync(join(tmpdir(), 'gpuaas-guest-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const port = `/dev/virtio-ports/${REPORT_CHANNEL}`;
  for (const [path, text] of Object.entries({ [port]: '', '/bin/.keep': '', ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    if (/^\/(bin|usr)\//.test(path)) chmodSync(join(root, path), 0o755);
  }
  mkdirSync(join(root, 'run'), { recursive: true });
  const script = reportScript(['10de:2335'], checks, own)
    .replaceAll(
      /\/(dev\/virtio-ports|sys\/bus|proc\/net|etc\/ssh|var\/lib\/cloud|run\/gpuaas|run\/cloud-init|usr\/local)/g,
      `${root}/$1`,
    )
    // Once, and before the report.
    .replace('hold &', 'hold')
    .replace('sleep 5', 'break')
    .replace('sleep 2', 'exit 0')
    .replace('do sleep 1; done', 'do exit 3; done');
  return () => {
    const { status } = spawnSync('sh', [], { input: script, env: { PATH: `${join(root, 'bin')}:/usr/bin:/bin` } });
    return status === 0 ? readFileSync(join(root, port)) : Buffer.from(`status ${status}`);
  };
};

const LISTENS = '  0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000\n';
const GUEST = {
  '/proc/net/tcp': LISTENS,
  '/etc/ssh/ssh_host_ed25519_key.pub': `${KEY} root@trainer\n`,
  '/var/lib/cloud/instance/sem/config_ssh': '',
  '/sys/bus/pci/devices/0000:01:00.0/vendor': '0x10de\n',
  '/sys/bus/pci/devices/0000:01:00.0/device': '0x2335\n',
  '/sys/bus/pci/devices/0000:02:00.0/vendor': '0x8086\n',
  '/sys/bus/pci/devices/0000:02:00.0/device': '0x2335\n',
};

describe('the report of a guest', () => {
  it('contains its host key and the GPUs on its bus', (t) =>
    assert.deepEqual(readReport(openGuest(t, GUEST)()), { ssh_host_key: KEY, gpu_count: 1, checks: [] }));

  it('counts GPUs by the driver if there is one, and not while the driver does not respond', (t) => {
    const driver = '#!/bin/sh\necho "GPU 0: NVIDIA H200"\necho "GPU 1: NVIDIA H200"\n';
    assert.equal(readReport(openGuest(t, { ...GUEST, '/bin/nvidia-smi': driver })())?.gpu_count, 2);
    const mute = '#!/bin/sh\nexit 9\n';
    assert.equal(readReport(openGuest(t, { ...GUEST, '/bin/nvidia-smi': mute })())?.gpu_count, null);
  });

  it('contains the result of each check of its image, and a failure if the image has no answer', (t) => {
    const answers = (files: object) =>
      readReport(openGuest(t, { ...GUEST, ...files }, ['cuda', 'gpu_driver'])())?.checks;
    const said =
      '#!/bin/sh\nfor name; do [ $name = cuda ] && echo "ok $name" || echo "not ok $name: no \\"GPU\\" (\\$x)"; done\n';
    assert.deepEqual(answers({ [READINESS_PATH]: said }), [
      { name: 'cuda', is_ok: true, why: null },
      { name: 'gpu_driver', is_ok: false, why: 'no GPU (x)' },
    ]);
    assert.deepEqual(
      answers({})?.map(({ is_ok }) => is_ok),
      [false, false],
    );
    assert.deepEqual(answers({ [READINESS_PATH]: '#!/bin/sh\nexit 1\n' }), []);
  });

  it('contains the check of its data disks first, also without a check of its image, and none before their result', (t) => {
    const answers = (files: object, checks: readonly string[] = []) =>
      readReport(openGuest(t, { ...GUEST, ...files }, checks, ['data_disks'])())?.checks;
    const result = { '/run/gpuaas-data-disks': 'not ok data_disks: data disk 1 is missing\n' };
    const failed = { name: 'data_disks', is_ok: false, why: 'data disk 1 is missing' };
    assert.deepEqual(answers(result), [failed]);
    assert.deepEqual(answers({ ...result, [READINESS_PATH]: '#!/bin/sh\necho "ok $1"\n' }, ['cuda']), [
      failed,
      { name: 'cuda', is_ok: true, why: null },
    ]);
    assert.deepEqual(answers({}), []);
  });

  it('ignores malformed checks', () => {
    const said = { ...GOOD, checks: ['ok a', 'ok A', 'not ok b: why', 'ok c: \n', 7, ...Array(40).fill('ok z')] };
    const names = readReport(Buffer.from(line(said)))?.checks.map(({ name }) => name);
    assert.deepEqual(names?.slice(0, 3), ['a', 'b', 'z']);
    assert.ok((names?.length ?? 0) < 32);
    assert.deepEqual(readReport(Buffer.from(line({ ...GOOD, checks: 'ok a' })))?.checks, []);
  });

  it('waits for the new host key, for sshd and for what restarts it', (t) => {
    const { '/var/lib/cloud/instance/sem/config_ssh': _, ...early } = GUEST;
    const waiting = 'status 3';
    assert.equal(openGuest(t, { ...early, '/var/lib/cloud/instance/x': '' })().toString(), waiting);
    const status = (finished: string) => ({
      ...GUEST,
      '/run/cloud-init/status.json': `{\n "v1": {\n  "init": {\n   "finished": 9\n  },\n  "modules-config": {\n   "errors": [],\n   "finished": ${finished},\n   "start": 1\n  }\n }\n}\n`,
    });
    assert.equal(openGuest(t, status('null'))().toString(), waiting);
    assert.equal(readReport(openGuest(t, status('1763.5'))())?.ssh_host_key, KEY);
    const deaf = { ...GUEST, '/proc/net/tcp': LISTENS.replace('0016', '0050') };
    assert.equal(openGuest(t, deaf)().toString(), waiting);
  });

  it('is the last complete valid line', () => {
    const later = { ...GOOD, gpu_count: 4 };
    assert.equal(readReport(Buffer.from(`a":1}\n${line(GOOD)}\n${line(later)}{"schema":1,"ss`))?.gpu_count, 4);
    assert.equal(readReport(Buffer.from(line(GOOD) + line({ schema: 2 })))?.gpu_count, 2);
    assert.equal(readReport(Buffer.from(JSON.stringify(GOOD))), null);
  });

  it('is nothing if it is invalid or beyond the read limit', () => {
    for (const said of [
      null,
      1,
      [],
      { ...GOOD, gpu_count: -1 },
      { ...GOOD, gpu_count: 1e9 },
      { ...GOOD, ssh_host_key: 'command="x" ssh-rsa AAAA' },
      { ...GOOD, ssh_host_key: `${KEY}\n${KEY}` },
    ])
      assert.equal(readReport(Buffer.from(line(said))), null);
    assert.equal(readReport(Buffer.from(`${line(GOOD)}${'x'.repeat(REPORT_BYTES_MAX)}`)), null);
  });

  it('arrives in pieces of any size', () => {
    const bytes = Buffer.from(`\n${line({ schema: 2 })}${line(GOOD)}`);
    for (const size of [1, 7, 64, bytes.length]) {
      const reader = createReportReader();
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        reader.read(bytes.subarray(at * size, (at + 1) * size)),
      );
      assert.deepEqual(pieces.at(-1), { ssh_host_key: KEY, gpu_count: 2, checks: [] });
      assert.ok(pieces.slice(0, -1).every((piece) => piece === null));
    }
  });

  it('is cheap to read however much a guest OS sends: short lines and most others are not parsed', (t) => {
    const parse = t.mock.method(JSON, 'parse');
    const noisy = createReportReader();
    for (let count = 0; count < 100; count++) assert.equal(noisy.read(Buffer.from('\n{}'.repeat(100))), null);
    assert.deepEqual([parse.mock.callCount(), noisy.isSpent()], [0, false]);
    assert.equal(noisy.read(Buffer.from(`\n${line(GOOD)}`))?.gpu_count, 2, 'the first valid report then counts');

    parse.mock.resetCalls();
    const liar = createReportReader();
    for (let count = 0; count < 100; count++) liar.read(Buffer.from(`${'x'.repeat(80)}\n`.repeat(100)));
    assert.deepEqual([parse.mock.callCount(), liar.isSpent()], [8, true]);

    const endless = createReportReader();
    while (!endless.isSpent()) endless.read(Buffer.alloc(REPORT_BYTES_MAX, '\n'));
    assert.equal(parse.mock.callCount(), 8);
  });

  it('is generated only for plain IDs', () => {
    assert.throws(() => reportScript([`10de:2335'; reboot; '`]), HostError);
    assert.throws(() => reportScript([], [`a'; reboot; '`]), HostError);
  });
});
