/** A shell with a few commands, so that a terminal in the demo answers like a VM. */
import type { Allocation } from '../core/rows.ts';

export type Shell = Readonly<{
  greeting: string;
  prompt: string;
  /** The output of the line; `exit` if it ends the shell. */
  run(line: string): Readonly<{ output: string; exit?: number }>;
}>;

const smi = (allocation: Allocation): string => {
  const line = '+-----------------------------------------------------------------------------------------+';
  const gpus = Array.from({ length: allocation.gpu_count }, (_, index) => {
    const bus = (0x1b + index * 0x11).toString(16).toUpperCase().padStart(2, '0');
    return [
      `|   ${index}  NVIDIA H200                    On  |   00000000:${bus}:00.0 Off |                    0 |`,
      `| N/A   ${31 + index}C    P0             76W /  700W |       4MiB / 143771MiB |      0%      Default |`,
      line,
    ].join('\n');
  });
  return [
    line,
    '| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |',
    '|-----------------------------------------+------------------------+----------------------|',
    '| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |',
    '| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |',
    line,
    ...gpus,
  ].join('\n');
};

const HELP = 'Words of this demo: echo, whoami, hostname, uname, uptime, ls, nvidia-smi [-L], clear, help, exit';

export const createShell = (allocation: Allocation): Shell => {
  const user = allocation.capacity_shape === 'baremetal' ? `gp-${allocation.id.slice(-16)}` : 'ubuntu';
  const list = Array.from({ length: allocation.gpu_count }, (_, index) => `GPU ${index}: NVIDIA H200`).join('\n');
  const commands: Readonly<Record<string, (words: readonly string[]) => string>> = {
    echo: (words) => words.join(' '),
    whoami: () => user,
    hostname: () => allocation.name,
    uname: () => 'Linux',
    uptime: () => ' up 2:14,  1 user,  load average: 0.08, 0.03, 0.01',
    ls: () => 'checkpoints  data  train.py',
    help: () => HELP,
    clear: () => '\u001b[2J\u001b[H',
    'nvidia-smi': (words) => (words[0] === '-L' ? list : smi(allocation)),
  };
  return {
    greeting: `Welcome to Ubuntu 24.04.3 LTS (simulated; nothing here is real)\n${HELP}\n`,
    prompt: `${user}@${allocation.name}:~$ `,
    run: (line) => {
      const [name = '', ...words] = line.trim().split(/\s+/);
      if (name === '') return { output: '' };
      if (name === 'exit' || name === 'logout') return { output: 'logout\n', exit: Number(words[0] ?? 0) || 0 };
      const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
      const output = command?.(words) ?? `${name}: command not found`;
      return { output: name === 'clear' ? output : `${output}\n` };
    },
  };
};
