/** The output of `nvidia-smi` in a simulated system: its GPUs, all idle. */
import type { Inside } from './access-guest.ts';

export const listGpus = ({ gpus }: Inside): string =>
  gpus.length === 0
    ? 'No devices found.'
    : gpus.map(({ model, uuid }, index) => `GPU ${index}: ${model} (UUID: ${uuid})`).join('\n');

const WIDTH = 89;
const row = (...cells: readonly string[]): string => `|${cells.join('|')}|`;
const bar = (fill: string, ...ends: readonly number[]): string =>
  `+${ends.map((width) => fill.repeat(width)).join('+')}+`;

export const nvidiaSmi = ({ gpus, now }: Inside): string => {
  const [first] = gpus;
  if (first === undefined) return 'No devices were found';
  const columns = [41, 24, 22] as const;
  const cell = (text: string, index: 0 | 1 | 2): string => ` ${text}`.padEnd(columns[index]);
  const right = (text: string, index: 0 | 1 | 2): string => `${text} `.padStart(columns[index]);
  const head = `NVIDIA-SMI ${first.driver}`.padEnd(34);
  return [
    now().toUTCString(),
    bar('-', WIDTH),
    row(` ${head}Driver Version: ${first.driver.padEnd(16)}`.padEnd(WIDTH)),
    bar('-', ...columns),
    row(cell('GPU  Name', 0), cell('Bus-Id', 1), right('Volatile Uncorr. ECC', 2)),
    row(cell('Fan  Temp   Perf          Pwr:Usage/Cap', 0), right('Memory-Usage', 1), right('GPU-Util', 2)),
    bar('=', ...columns),
    ...gpus.flatMap(({ model, address, memory_mib: mib }, index) => [
      row(cell(`${String(index).padStart(3)}  ${model}`, 0), cell(`0000${address.toUpperCase()}`, 1), right('0', 2)),
      row(cell('N/A   34C    P0              75W / 700W', 0), right(`0MiB / ${mib}MiB`, 1), right('0%', 2)),
      bar('-', ...columns),
    ]),
    row(' Processes:'.padEnd(WIDTH)),
    row('  No running processes found'.padEnd(WIDTH)),
    bar('-', WIDTH),
  ].join('\n');
};
