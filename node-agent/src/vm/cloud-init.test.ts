import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import AjvDraft04 from 'ajv-draft-04';
import { parse } from 'yaml';
import { debianSchema } from '../../test/cloud-init-schema.ts';
import { readFixture, requiresFixture } from '../../test/fixtures.ts';
import { ALLOCATION, KEY, machineOf } from '../../test/vm.ts';
import { HostError, type VmPlan } from '../host/host.ts';
import { cloudInit, type GuestOptions } from './cloud-init.ts';
import { KEYS_PATH } from './guest-keys.ts';
import { REPORT_PATH, reportScript, SSHD_SETTINGS_PATH } from './guest-report.ts';
import { writeSeed } from './seed.ts';
import { USER_DATA_BYTES_MAX } from './user-data.ts';

const GUEST: GuestOptions = { username: 'gpuaas', accelerators: ['10de:2335'] };
type Config = Readonly<Record<string, unknown>> & {
  users: { name: string; ssh_authorized_keys?: string[] }[];
  write_files: { path: string; content: string }[];
  bootcmd: string[][];
};

const withData = (user_data: string | null): VmPlan => ({
  ...machineOf(1),
  seed: { ...machineOf(1).seed, user_data },
});
const filesOf = (data: string | null) => cloudInit(withData(data), GUEST);
const read = (text: string): Config => parse(text, { version: '1.1' }) as Config;
const configOf = (data: string | null): Config => read(filesOf(data)['user-data']);
const formatted: VmPlan = { ...machineOf(4), seed: { ...machineOf(4).seed, storage: 'formatted' } };
const formattedConfig = (): Config => read(cloudInit(formatted, GUEST)['user-data']);
const refuses = (data: string, pattern: RegExp) =>
  assert.throws(
    () => filesOf(data),
    (err) => err instanceof HostError && err.code === 'blocked' && pattern.test(err.message),
    data.slice(0, 60),
  );

/** The parts of a multipart message, decoded. */
const partsOf = (text: string): readonly Readonly<{ type: string; body: string }>[] => {
  const boundary = /boundary="([^"]+)"/.exec(text)?.[1] ?? '';
  return text
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const [head = '', body = ''] = part.split('\n\n');
      return {
        type: /Content-Type: ([^;]+);/.exec(head)?.[1] ?? '',
        body: Buffer.from(body, 'base64').toString('utf8'),
      };
    });
};

describe('the seed of a VM', () => {
  it('creates one account with the keys of the launch and nothing else', () => {
    const config = configOf(null);
    assert.equal(config.users.length, 1);
    assert.deepEqual(config.users[0]?.ssh_authorized_keys, [KEY]);
    assert.equal(config['ssh_pwauth'], false);
  });

  it('names the VM and the one network card that gets an address from the host', () => {
    assert.deepEqual(parse(filesOf(null)['meta-data']), { 'instance-id': ALLOCATION, 'local-hostname': 'trainer' });
    const network = parse(filesOf(null)['network-config']) as { ethernets: { primary: { match: object } } };
    assert.deepEqual(network.ethernets.primary.match, { macaddress: '02:00:00:00:00:10' });
  });

  it('has a new instance ID after a reinstallation and the same one at every other start', () => {
    const idOf = (install: number) => {
      const machine = withData(null);
      const files = cloudInit({ ...machine, seed: { ...machine.seed, install } }, GUEST);
      return (parse(files['meta-data']) as Record<string, string>)['instance-id'];
    };
    assert.deepEqual([idOf(0), idOf(1), idOf(2)], [ALLOCATION, `${ALLOCATION}-1`, `${ALLOCATION}-2`]);
  });

  it('contains no address of the control plane and no path of the host', () => {
    const all = Object.values(filesOf(null)).join('\n');
    assert.doesNotMatch(all, /https?:|spiffe|BEGIN |\/var\/lib\/gpuaas|\/dev\/disk|0000:19/);
  });

  it('contains scripts that a shell can parse', () => {
    const { status, stderr } = spawnSync('sh', ['-n'], { input: reportScript(['10de:2335', '1234:11e8']) });
    assert.equal(status, 0, stderr.toString('utf8'));
    for (const [, , start = ''] of configOf(null).bootcmd)
      assert.equal(spawnSync('sh', ['-n'], { input: start }).status, 0);
  });

  it('formats data disks by a last command before sshd starts, on no other path than by serial number', () => {
    const config = formattedConfig();
    assert.deepEqual(config.bootcmd.slice(0, -1), configOf(null).bootcmd);
    assert.match(config.bootcmd.at(-1)?.at(-1) ?? '', /^serials='S6XYNE0T90001 S6XYNE0T90002 S6XYNE0T90003'\n/);
    for (const key of ['fs_setup', 'disk_setup', 'mounts']) assert.equal(config[key], undefined);
    const report = config.write_files.find(({ path }) => path === REPORT_PATH);
    assert.match(report?.content ?? '', /^own='data_disks'$/m);
    const raw: VmPlan = { ...formatted, seed: { ...formatted.seed, storage: 'raw' } };
    assert.deepEqual(cloudInit(raw, GUEST), cloudInit(machineOf(4), GUEST));
  });

  it('tunes the network of a tuned guest kernel, and leaves a kernel without support unchanged', () => {
    const tuned = read(cloudInit(withData(null), { ...GUEST, is_network_tuned: true })['user-data']);
    assert.deepEqual(tuned.bootcmd.slice(0, -1), configOf(null).bootcmd);
    const [program = '', ...args] = tuned.bootcmd.at(-1) ?? [];
    // Paths that do not exist: the same script must succeed without output.
    const blind = args.map((text) => text.replaceAll('/proc/sys/', '/proc/nowhere/'));
    assert.match(args.join(' '), /echo 30000 >\/proc\/sys\/net\/core\/netdev_max_backlog/);
    const { status, stderr } = spawnSync(program, blind);
    assert.deepEqual([status, stderr.toString()], [0, '']);
  });
});

describe('user data of a tenant', () => {
  it('keeps its own keys, after those of the platform if both have a list', () => {
    const config = configOf(`#cloud-config
packages: [htop]
timezone: no
bootcmd: [[echo, hi]]
users: [default, {name: ann, sudo: false}]
write_files: [{path: /etc/motd, permissions: '0644', content: "hi\\u2028there"}]
`);
    assert.deepEqual(config['packages'], ['htop']);
    // As YAML 1.1 parses it, which is what a guest OS does.
    assert.equal(config['timezone'], false);
    assert.deepEqual(
      config.users.map((user) => (typeof user === 'string' ? user : user.name)),
      ['gpuaas', 'default', 'ann'],
    );
    assert.equal(config.bootcmd.length, 3);
    assert.deepEqual(config.bootcmd[2], ['echo', 'hi']);
    assert.deepEqual(
      config.write_files.map((file) => file.path),
      ['/etc/motd', SSHD_SETTINGS_PATH, KEYS_PATH, REPORT_PATH],
    );
    assert.equal(config.write_files[0]?.content, 'hi\u2028there');
  });

  it('is a separate part if it is a script, byte for byte', () => {
    const script = '#!/bin/sh\necho "--==gpuaas-part==" # — ü\n';
    const parts = partsOf(filesOf(script)['user-data']);
    assert.deepEqual(
      parts.map((part) => part.type),
      ['text/cloud-config', 'text/x-shellscript'],
    );
    assert.equal(parts[1]?.body, script);
    assert.deepEqual(read(parts[0]?.body ?? ''), configOf(null));
  });

  it('is refused if it overrides what makes the VM reachable', () => {
    for (const key of [
      'hostname',
      'ssh_authorized_keys',
      'merge_how',
      'cloud_final_modules',
      'launch-index',
      'network',
    ])
      refuses(`#cloud-config\n${key}: [x]\n`, new RegExp(`${key} is set by GPUaaS`));
    refuses('#cloud-config\nusers: [{name: gpuaas, ssh_authorized_keys: [x]}]\n', /user gpuaas is set/);
    refuses(
      `#cloud-config\nwrite_files: [{path: //usr/local/../local/sbin/gpuaas-report}]\n`,
      /file .* is set by GPUaaS/,
    );
    refuses('#cloud-config\nbootcmd: reboot\n', /bootcmd is to be a list/);
    refuses('#cloud-config\n__proto__: {users: []}\n', /not a key of a cloud-config/);
  });

  it('is refused in a form that could change other parts, or if it is too large or not text', () => {
    for (const start of [
      '#include\nhttps://x',
      '#cloud-config-jsonp\n[]',
      '#part-handler\n',
      '## template: jinja\n#cloud-config\n',
      'MIME-Version: 1.0\n',
      '#cloud-config-archive\n',
    ])
      refuses(start, /starts with neither/);
    refuses(`#!${'x'.repeat(USER_DATA_BYTES_MAX)}`, /larger than 65536/);
    refuses('#!/bin/sh\n\0', /not text/);
    refuses('#cloud-config\na: 2024-01-01\n', /put it in quotes/);
    refuses('#cloud-config\na: 1\na: 2\n', /cannot be read/);
    refuses(`#cloud-config\na: ${'['.repeat(20_000)}`, /cannot be read/);
    refuses(`#cloud-config\na: &a [x]\nb: &b [${'*a,'.repeat(50)}]\nc: [${'*b,'.repeat(50)}]\n`, /cannot be read/);
  });
});

/** As large as allowed, and as it is merged: its own keys, and files and commands beside the platform's. */
const full = (start: string, line: (index: number) => string): string => {
  let text = start;
  for (let index = 0; Buffer.byteLength(text + line(index)) <= USER_DATA_BYTES_MAX; index++) text += line(index);
  return text.padEnd(text.length + USER_DATA_BYTES_MAX - Buffer.byteLength(text), '#');
};
const LARGE = full('#cloud-config\nruncmd:\n', (index) => `  - [echo, "${index} — ü ' {{ }} --==gpuaas-part=="]\n`);

describe('user data of the maximum size', () => {
  it('is merged completely, after the part of the platform', () => {
    assert.equal(Buffer.byteLength(LARGE), USER_DATA_BYTES_MAX);
    const [config, alone] = [configOf(LARGE), configOf(null)];
    assert.ok((config['runcmd'] as unknown[]).length > 1000);
    const { runcmd: _, ...rest } = config;
    assert.deepEqual(rest, alone);
    refuses(`${LARGE}#`, /larger than 65536/);
  });

  it('is included completely as a script and fits the seed', () => {
    const script = full('#!/bin/sh\n', (index) => `echo "${index} —"\n`);
    const files = filesOf(script);
    assert.equal(partsOf(files['user-data'])[1]?.body, script);
    const seed = writeSeed(files);
    assert.ok(seed.length < 1024 * 1024 && seed.includes(Buffer.from(files['user-data'])));
  });
});

const RECORDED = ['cloud-init/schema-cloud-config-v1.json', 'cloud-init/debian-22.4.2/schema-cloud-config-v1.json'];
const SCHEMAS = [
  ...RECORDED.map((path) => ({ name: path, skip: requiresFixture(path), read: () => readFixture(path) })),
  {
    name: 'of Debian’s package',
    skip:
      debianSchema() === null
        ? 'cloud-init: its package could not be downloaded (Debian: cloud-init)'
        : (false as const),
    read: () => debianSchema() ?? '',
  },
];
for (const { name, skip, read: readSchema } of SCHEMAS)
  describe(`the schema of cloud-init (${name})`, { skip }, () => {
    const compiled = () =>
      new AjvDraft04.default({ strict: false, validateFormats: false, logger: false }).compile(
        JSON.parse(readSchema()),
      );

    it('accepts the generated data, alone, merged, and with a script', () => {
      const check = compiled();
      const merged = '#cloud-config\npackages: [htop]\nruncmd: [ls]\nusers: [{name: ann}]\n';
      const beside = read(partsOf(filesOf('#!/bin/sh\n')['user-data'])[0]?.body ?? '');
      for (const config of [configOf(null), configOf(merged), configOf(LARGE), beside, formattedConfig()])
        assert.equal(check(config), true, JSON.stringify(check.errors?.slice(0, 2)));
    });

    it('rejects invalid data', () => {
      const check = compiled();
      assert.equal(check({ ...configOf(null), bootcmd: 'x' }), false);
      assert.equal(check({ ...configOf(null), users: [{ name: 'x', nonsense: 1 }] }), false);
    });
  });

const NETWORK = 'cloud-init/schema-network-config-v2.json';
describe('the network schema of cloud-init', { skip: requiresFixture(NETWORK) }, () => {
  it('accepts the generated configuration and rejects an invalid one', async () => {
    const { Ajv } = await import('ajv');
    const check = new Ajv({ strict: false, logger: false }).compile(JSON.parse(readFixture(NETWORK)));
    const network = parse(filesOf(null)['network-config']) as Readonly<Record<string, unknown>>;
    assert.equal(check(network), true, JSON.stringify(check.errors?.slice(0, 2)));
    assert.equal(check({ ...network, version: 3 }), false);
  });
});
