/**
 * The commands of the simulated shell. Each is a function of the simulated system, its arguments and its input; none
 * reaches the computer that runs the simulation.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Inside } from './access-guest.ts';
import { listGpus, nvidiaSmi } from './access-nvidia-smi.ts';

export type Streams = Readonly<{
  input: AsyncIterable<Uint8Array>;
  /** Resolves when there is room for more. */
  out: (bytes: string | Uint8Array) => Promise<void>;
  err: (text: string) => Promise<void>;
  signal: AbortSignal;
  /** Null if there is no terminal. */
  size: () => Readonly<{ cols: number; rows: number }> | null;
}>;
type Run = (args: readonly string[], inside: Inside, io: Streams) => Promise<number>;

const says =
  (text: (args: readonly string[], inside: Inside) => string): Run =>
  async (args, inside, { out }) => {
    await out(`${text(args, inside)}\n`);
    return 0;
  };

/** Each named file, or the input. A missing file is reported, and the others are read. */
const eachInput = async (
  name: string,
  args: readonly string[],
  { files }: Inside,
  { input, err }: Streams,
  use: (source: AsyncIterable<Uint8Array> | readonly Uint8Array[], label: string) => Promise<void>,
): Promise<number> => {
  let code = 0;
  for (const arg of args.length === 0 ? ['-'] : args) {
    const path = files.resolve(arg);
    if (arg === '-') await use(input, '-');
    else if (files.kind(path) === 'file') await use([files.read(path)], arg);
    else {
      const why = files.kind(path) === 'folder' ? 'Is a directory' : 'No such file or directory';
      await err(`${name}: ${arg}: ${why}\n`);
      code = 1;
    }
  }
  return code;
};

const BATCH_BYTES = 16 * 1024;

/** Lines until the end or an interrupt; a slow reader slows it down. */
const many = async (lines: Iterable<string>, { out, signal }: Streams): Promise<number> => {
  let batch = '';
  for (const line of lines) {
    batch += `${line}\n`;
    if (batch.length < BATCH_BYTES) continue;
    if (signal.aborted) return 130;
    await out(batch);
    // Yields to other work of this process even without backpressure.
    await new Promise((resolve) => setImmediate(resolve));
    batch = '';
  }
  if (batch !== '') await out(batch);
  return 0;
};

function* numbers(first: number, last: number): Generator<string> {
  for (let n = first; n <= last; n++) yield String(n);
}
function* forever(text: string): Generator<string> {
  for (;;) yield text;
}

const uptime = ({ now, booted_at: bootedAt }: Inside): string => {
  const minutes = Math.max(0, Math.floor((now().getTime() - bootedAt.getTime()) / 60_000));
  const clock = now().toISOString().slice(11, 19);
  const span = `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
  return ` ${clock} up ${span},  1 user,  load average: 0.00, 0.00, 0.00`;
};

const date = ({ now }: Inside): string => {
  const [, day, month, dayOfMonth, year, clock] = /^(\w+), (\d+) (\w+) (\d+) (\S+)/
    .exec(now().toUTCString())
    ?.map((part, index) => (index === 0 ? '' : part)) ?? ['', '', '', '', '', ''];
  return `${day} ${dayOfMonth} ${String(Number(month)).padStart(2)} ${clock} UTC ${year}`;
};

const free = ({ memory_mib: mib }: Inside): string => {
  const kib = mib * 1024;
  const used = Math.floor(kib / 50);
  const row = (...cells: readonly (string | number)[]) => cells.map((cell) => String(cell).padStart(12)).join('');
  return [
    `       ${row('total', 'used', 'free', 'shared', 'buff/cache', 'available')}`,
    `Mem:   ${row(kib, used, kib - used, 0, 0, kib - used)}`,
    `Swap:  ${row(0, 0, 0)}`,
  ].join('\n');
};

const lspci = ({ gpus }: Inside): string =>
  [
    '00:00.0 Host bridge: Intel Corporation 82G33/G31/P35/P31 Express DRAM Controller',
    '01:00.0 Ethernet controller: Red Hat, Inc. Virtio 1.0 network device (rev 01)',
    ...gpus.map(({ address, model }) => `${address.replace(/^0000:/, '')} 3D controller: NVIDIA Corporation ${model}`),
  ].join('\n');

const df = (): string =>
  [
    'Filesystem      1K-blocks    Used  Available Use% Mounted on',
    '/dev/vda1      3749920768 6291456 3743629312   1% /',
    'tmpfs             6553600       0    6553600   0% /run',
  ].join('\n');

export const COMMANDS: Readonly<Record<string, Run>> = {
  hostname: says((_, { hostname }) => hostname),
  whoami: says((_, { username }) => username),
  id: says((_, { username: name }) => `uid=1000(${name}) gid=1000(${name}) groups=1000(${name}),27(sudo)`),
  pwd: says((_, { files }) => files.home),
  nproc: says((_, { cpu_count: count }) => String(count)),
  date: says((_, inside) => date(inside)),
  uptime: says((_, inside) => uptime(inside)),
  free: says((_, inside) => free(inside)),
  lspci: says((_, inside) => lspci(inside)),
  df: says(df),
  uname: says(([flag], { hostname, kernel }) =>
    flag === '-a' ? `Linux ${hostname} ${kernel} #1 SMP x86_64 GNU/Linux` : flag === '-r' ? kernel : 'Linux',
  ),
  help: says(() => `This VM is simulated. Commands: ${Object.keys(COMMANDS).sort().join(' ')} exit`),
  'nvidia-smi': says(([flag], inside) => (flag === '-L' ? listGpus(inside) : nvidiaSmi(inside))),
  true: async () => 0,
  false: async () => 1,
  clear: async (_, __, { out }) => {
    await out('\x1b[H\x1b[2J');
    return 0;
  },
  echo: async ([first, ...others], _, { out }) => {
    const words = first === '-n' ? others : [...(first === undefined ? [] : [first]), ...others];
    await out(`${words.join(' ')}${first === '-n' ? '' : '\n'}`);
    return 0;
  },
  ls: async (args, { files }, { out, err }) => {
    const [arg = '.'] = args.filter((one) => !one.startsWith('-'));
    const path = files.resolve(arg);
    const kind = files.kind(path);
    if (kind === null) {
      await err(`ls: cannot access '${arg}': No such file or directory\n`);
      return 2;
    }
    const names = kind === 'file' ? [arg] : files.list(path);
    if (names.length > 0) await out(`${names.join('\n')}\n`);
    return 0;
  },
  rm: async (args, { files }, { err }) => {
    let code = 0;
    for (const arg of args.filter((one) => !one.startsWith('-'))) {
      if (files.kind(files.resolve(arg)) === 'file' && files.remove(files.resolve(arg))) continue;
      await err(`rm: cannot remove '${arg}': No such file\n`);
      code = 1;
    }
    return code;
  },
  cat: (args, inside, io) =>
    eachInput('cat', args, inside, io, async (source) => {
      for await (const bytes of source) await io.out(bytes);
    }),
  sha256sum: (args, inside, io) =>
    eachInput('sha256sum', args, inside, io, async (source, label) => {
      const hash = createHash('sha256');
      for await (const bytes of source) hash.update(bytes);
      await io.out(`${hash.digest('hex')}  ${label}\n`);
    }),
  wc: (args, inside, io) =>
    eachInput(
      'wc',
      args.filter((one) => one !== '-c'),
      inside,
      io,
      async (source) => {
        let count = 0;
        for await (const bytes of source) count += bytes.length;
        await io.out(`${count}\n`);
      },
    ),
  seq: (args, _, io) => {
    const given = args.map(Number);
    const [first, last] = given.length > 1 ? given : [1, given[0]];
    return many(numbers(first ?? 1, last ?? 0), io);
  },
  yes: ([text = 'y'], _, io) => many(forever(text), io),
  sleep: async ([seconds = '0'], _, { signal, err }) => {
    const ms = Number(seconds) * 1000;
    if (!Number.isFinite(ms) || ms < 0) {
      await err(`sleep: invalid time interval '${seconds}'\n`);
      return 1;
    }
    return sleep(Math.min(ms, 2 ** 31 - 1), 0, { signal }).catch(() => 130);
  },
  stty: async ([what], _, { out, err, size }) => {
    const cells = size();
    if (cells === null) {
      await err("stty: 'standard input': Inappropriate ioctl for device\n");
      return 1;
    }
    if (what === 'size') await out(`${cells.rows} ${cells.cols}\n`);
    return 0;
  },
};
