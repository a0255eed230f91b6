/** CPU seconds used by processes, from the kernel's accounting (Linux). */
import { readdirSync, readFileSync } from 'node:fs';

/** The tick of /proc on every Linux. */
const TICKS_PER_S = 100;

type Stat = Readonly<{ parent: number; own: number; ended_children: number }>;

const readStat = (pid: number): Stat | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may contain spaces; fields are counted after it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const at = (index: number): number => Number(fields[index]);
    return { parent: at(1), own: at(11) + at(12), ended_children: at(13) + at(14) };
  } catch {
    return undefined;
  }
};

/** Includes its child processes. */
export const cpuSeconds = (pid: number): number => {
  const root = readStat(pid);
  if (root === undefined) return 0;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readStat(Number(name)))
    .filter((stat) => stat?.parent === pid);
  return (
    children.reduce(
      (sum, stat) => sum + (stat?.own ?? 0) + (stat?.ended_children ?? 0),
      root.own + root.ended_children,
    ) / TICKS_PER_S
  );
};
