/** What an Xid of the NVIDIA driver means for the host, after NVIDIA's catalog. */
import type { GpuEventKind } from './vendor.ts';

const CODES: Readonly<Record<Exclude<GpuEventKind, 'unsettled'>, readonly number[]>> = {
  broken: [46, 48, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158],
  link: [144, 145, 146, 147, 148, 149, 150],
  recovery: [154],
  program: [
    8, 11, 13, 25, 31, 32, 39, 40, 41, 60, 68, 69, 70, 71, 72, 75, 76, 77, 80, 82, 83, 84, 85, 86, 88, 89, 94, 96, 97,
    98, 99, 100, 101, 102, 103, 104, 105, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 139,
  ],
  // 45 only follows another error.
  noise: [14, 37, 38, 43, 44, 45, 63, 66, 67, 92, 93, 106, 107, 108, 121, 137, 141, 152, 153, 157, 160, 161],
};

const KINDS: ReadonlyMap<number, GpuEventKind> = new Map(
  Object.entries(CODES).flatMap(([kind, codes]) => codes.map((code) => [code, kind as GpuEventKind] as const)),
);

/** The names in the catalog of the Xids that operators meet. */
const NAMES: Readonly<Record<number, string>> = {
  13: 'graphics engine exception',
  31: 'memory page fault',
  43: 'GPU stopped processing',
  45: 'preemptive cleanup',
  48: 'double-bit ECC error',
  62: 'internal micro-controller halt',
  63: 'memory remapping event',
  64: 'memory remapping failure',
  74: 'NVLink error',
  79: 'GPU has fallen off the bus',
  92: 'high single-bit ECC error rate',
  94: 'contained memory error',
  95: 'uncontained memory error',
  109: 'context switch timeout',
  119: 'GSP RPC timeout',
  120: 'GSP error',
  136: 'link training failed',
  140: 'unrecovered ECC error',
  143: 'GPU initialization error',
  145: 'NVLink RLW error',
  149: 'NVLink NETIR error',
  154: 'GPU recovery action changed',
  158: 'GPU fatal timeout',
};

export const xidKind = (code: number): GpuEventKind => KINDS.get(code) ?? 'unsettled';
export const xidName = (code: number): string => NAMES[code] ?? 'unknown';
