/**
 * A host's network in its own namespace and directory: a switch in user space with the bridge, an uplink to a
 * responding outside, and virtual links to namespaces in place of VMs. Nothing of it is visible outside, and all of it
 * is removed.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requires } from '../../tools/test/requires.ts';
import { NETWORK_DEFAULTS, type NetworkConfig } from '../src/host/linux/network-config.ts';

/** Why it cannot be created here; false if it can. */
export const labLacks = (): string | false =>
  requires('root', 'ovs-vswitchd', 'dnsmasq', 'nft', 'conntrack', 'busybox', 'ethtool', 'python3', 'netns');

const WIRE_MS = 60_000;
const WIRE = fileURLToPath(new URL('wire.py', import.meta.url));
export const OUTSIDE = '203.0.113.2';
export const METADATA = '169.254.169.254';
const DHCP_SCRIPT = `#!/bin/sh
[ "$1" = bound ] || [ "$1" = renew ] || exit 0
ip addr replace "$ip/$mask" dev "$interface"
ip route replace default via "$router"
`;

/** The web client of busybox crashes if it is linked statically. */
const FETCH = 'exec 3<>/dev/tcp/$0/8080 && printf "GET /hello HTTP/1.0\\r\\n\\r\\n" >&3 && cat <&3';

export type Ran = Readonly<{ status: number; stdout: string; stderr: string }>;
const run = (argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> =>
  new Promise((resolve) => {
    const [file = '', ...args] = argv;
    execFile(file, args, { env: { ...process.env, ...env }, timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
const must = async (argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> => {
  const { status, stdout, stderr } = await run(argv, env);
  if (status !== 0) throw new Error(`${argv.join(' ')}: ${status} ${stderr}`);
  return stdout;
};

/** A frame-by-frame capture at one end of a link. */
export type Wire = Readonly<{
  send(...frames: readonly string[]): void;
  /** All frames so far, in hex. */
  seen(): readonly string[];
  /** Resolves when such a frame has arrived. */
  until(is: (frame: string) => boolean): Promise<void>;
}>;

export type Place = Readonly<{
  run(...argv: readonly string[]): Promise<Ran>;
  must(...argv: readonly string[]): Promise<string>;
  wire(device: string): Promise<Wire>;
  /** A web server on this address, until the lab is closed. */
  serve(address: string): Promise<void>;
  /** Whether the web server there responds. */
  reaches(address: string): Promise<boolean>;
}>;
export type LabGuest = Place & Readonly<{ dhcp(...flags: readonly string[]): Promise<Ran> }>;

export type NetworkLab = Readonly<{
  config: NetworkConfig;
  host: Place;
  outside: Place;
  /** A namespace at the other end of a link whose end at the switch has this name. */
  guest(port: string, mac: string): Promise<LabGuest>;
  vsctl(...argv: readonly string[]): Promise<string>;
  ofctl(...argv: readonly string[]): Promise<string>;
  restartSwitch(): Promise<void>;
  close(): Promise<void>;
}>;

let made = 0;

export const startNetworkLab = async (): Promise<NetworkLab> => {
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-net-'));
  const tag = `gpt${process.pid}x${++made}`;
  const spaces: string[] = [];
  const children: ChildProcess[] = [];
  const env = { OVS_RUNDIR: folder, OVS_LOGDIR: folder, OVS_DBDIR: folder };
  const within = (space: string): readonly string[] => ['nsenter', `--net=/run/netns/${space}`];

  const start = (argv: readonly string[]): ChildProcess => {
    const [file = '', ...args] = argv;
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    return child;
  };
  const space = async (name: string): Promise<Place> => {
    const full = `${tag}${name}`;
    await must(['ip', 'netns', 'add', full]);
    spaces.push(full);
    const inside = within(full);
    await must([...inside, 'ip', 'link', 'set', 'lo', 'up']);
    const fetched = async (address: string): Promise<boolean> =>
      (await run([...inside, 'timeout', '2', 'bash', '-c', FETCH, address])).stdout.endsWith('hello\n');
    return {
      run: (...argv) => run([...inside, ...argv], env),
      must: (...argv) => must([...inside, ...argv], env),
      wire: (device) => openWire(start([...inside, '/usr/bin/python3', '-u', WIRE, device])),
      reaches: fetched,
      serve: async (address) => {
        const child = start([...inside, 'busybox', 'httpd', '-f', '-p', `${address}:8080`, '-h', folder]);
        while (!(await fetched(address)))
          if (child.exitCode !== null) throw new Error(`nothing can be served on ${address}`);
      },
    };
  };

  const startVswitchd = (): Promise<string> =>
    must(
      [
        ...within(`${tag}sw`),
        'ovs-vswitchd',
        `unix:${folder}/db.sock`,
        '--pidfile',
        '--detach',
        '--log-file',
        '--no-chdir',
      ],
      env,
    );
  const endDaemon = async (name: string): Promise<void> => {
    const pid = Number(await readFile(join(folder, `${name}.pid`), 'utf8').catch(() => ''));
    if (!(pid > 1)) return;
    await run(['ovs-appctl', '-t', join(folder, `${name}.${pid}.ctl`), 'exit'], env);
    while ((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== '');
  };

  const vsctl = (...argv: readonly string[]): Promise<string> => must(['ovs-vsctl', '--timeout=60', ...argv], env);
  const config: NetworkConfig = {
    ...NETWORK_DEFAULTS,
    uplink: 'up0',
    dns_servers: [OUTSIDE],
    folder: join(folder, 'agent'),
    command_prefix: within(`${tag}sw`),
    switch_folder: folder,
  };
  const close = async (): Promise<void> => {
    for (const child of children) child.kill('SIGKILL');
    const pid = Number(await readFile(join(config.folder, 'dnsmasq.pid'), 'utf8').catch(() => ''));
    const command = pid > 1 ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') : '';
    if (command.includes(config.folder)) process.kill(pid, 'SIGKILL');
    await endDaemon('ovs-vswitchd');
    await endDaemon('ovsdb-server');
    for (const name of spaces) await run(['ip', 'netns', 'delete', name]);
    await rm(folder, { recursive: true, force: true });
  };

  try {
    const host = await space('sw');
    const outside = await space('out');
    await writeFile(join(folder, 'hello'), 'hello\n');
    await writeFile(join(folder, 'dhcp.sh'), DHCP_SCRIPT, { mode: 0o755 });
    // The DHCP server runs as its own user and reads below it.
    await must(['chmod', '755', folder]);
    await must(['ovsdb-tool', 'create', join(folder, 'conf.db'), '/usr/share/openvswitch/vswitch.ovsschema'], env);
    await must(
      [
        'ovsdb-server',
        join(folder, 'conf.db'),
        `--remote=punix:${folder}/db.sock`,
        '--pidfile',
        '--detach',
        '--log-file',
        '--no-chdir',
      ],
      env,
    );
    await vsctl('--no-wait', 'init');
    await startVswitchd();
    const bringUp = async (): Promise<void> => {
      await host.must('ethtool', '-K', config.bridge, 'tx', 'off');
      await host.must('ip', 'addr', 'replace', `${config.gateway}/24`, 'dev', config.bridge);
      await host.must('ip', 'link', 'set', config.bridge, 'up');
    };
    await vsctl('add-br', config.bridge, '--', 'set', 'bridge', config.bridge, 'datapath_type=netdev');
    await bringUp();
    await host.must('ip', 'link', 'add', 'up0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', `${tag}out`);
    await host.must('ip', 'addr', 'add', '203.0.113.1/24', 'dev', 'up0');
    await host.must('ip', 'link', 'set', 'up0', 'up');
    await host.must('sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
    await outside.must('ip', 'addr', 'add', `${OUTSIDE}/24`, 'dev', 'eth0');
    await outside.must('ip', 'link', 'set', 'eth0', 'up');
    return {
      config,
      host,
      outside,
      vsctl,
      ofctl: (...argv) => must(['ovs-ofctl', ...argv], env),
      guest: async (port, mac) => {
        const place = await space(port.slice(-4));
        const other = `${tag}${port.slice(-4)}`;
        await host.must('ip', 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', other);
        await host.must('ethtool', '-K', port, 'tx', 'off');
        await host.must('ip', 'link', 'set', port, 'up');
        await place.must('ethtool', '-K', 'eth0', 'tx', 'off');
        await place.must('ip', 'link', 'set', 'eth0', 'address', mac, 'up');
        const dhcp = ['busybox', 'udhcpc', '-i', 'eth0', '-n', '-q', '-f', '-t', '8', '-T', '1'];
        return { ...place, dhcp: (...flags) => place.run(...dhcp, '-s', join(folder, 'dhcp.sh'), ...flags) };
      },
      restartSwitch: async () => {
        await endDaemon('ovs-vswitchd');
        await startVswitchd();
        await bringUp();
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};

const openWire = async (child: ChildProcess): Promise<Wire> => {
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString('latin1')).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
    for (const look of waiting) look();
  });
  const until = (is: (frame: string) => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`it never came; these did: ${lines.join(' ')}`)), WIRE_MS);
      const look = (): void => {
        if (!lines.some(is)) return;
        waiting.delete(look);
        clearTimeout(late);
        resolve();
      };
      waiting.add(look);
      look();
    });
  await until((line) => line === 'ready');
  return {
    until,
    seen: () => lines.filter((line) => line !== 'ready'),
    send: (...frames) => child.stdin?.write(frames.map((frame) => `${frame}\n`).join('')),
  };
};
