/**
 * The state of a simulated host: one JSON file, replaced by a rename, so a reader never sees half a change. It is
 * written only on changes. Another process may open the same directory, as the lab does to reboot a host: a replaced
 * file is read again before the next operation.
 */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BundlePlan, CachedImage, StorageKind } from '@gpuaas/contract/node';
import type { Domain, Port } from '../host.ts';

export type SimDomain = {
  name: string;
  allocation_id: string | null;
  plan: BundlePlan | null;
  /** Absent in the state of an earlier release, which passed every function through. */
  passes_fabric?: boolean;
  state: Domain['state'];
  /** When the guest began to boot; null while it is not running. */
  started_at: string | null;
  /** The installation on its boot disk, which determines its host key. */
  install?: number;
  /** What the guest OS found when it booted; null if its boot disk has nothing to boot. */
  guest: { gpu_count: number; mounts?: string[] } | null;
  storage?: StorageKind;
  readiness_checks?: readonly string[];
  hostname?: string;
  /** Those that the control plane installed for its account. */
  ssh_public_keys?: readonly string[];
  /** Why it is off, if the hypervisor knows. */
  ended_by?: 'guest' | 'host' | 'crash';
  /** Of a domain without a plan. */
  devices?: string[];
};

export type State = {
  schema: 1;
  is_on: boolean;
  boot: { id: string; at: string; count: number };
  /** Bindings made since boot, by address. */
  drivers: Record<string, string | null>;
  active_partitions: number[];
  domains: SimDomain[];
  ports: Port[];
  images: CachedImage[];
  users: Record<string, { ssh_public_keys: string[]; sessions: number }>;
  log: { at: string; text: string }[];
  /** How often each fault rule was used, by rule id. */
  fault_hits: Record<string, number>;
};

export type Store = Readonly<{
  /** Checks the file, and reads it if another process replaced it. Called before each operation. */
  refresh(): void;
  /** As of the last check. Read-only. */
  read(): Readonly<State>;
  /** The whole change or none of it. */
  change<T>(edit: (state: State) => T): T;
}>;

export const openStore = (dir: string, first: () => State): Store => {
  const file = join(dir, 'state.json');
  let state: State | null = null;
  let seen: string | null = null;

  /** An inode number may be reused, so time and size are compared as well. */
  const stampOf = (): string | null => {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? null : `${found.ino}:${found.ctimeNs}:${found.size}`;
  };
  const write = (next: State): State => {
    const temporary = `${file}.${process.pid}`;
    writeFileSync(temporary, `${JSON.stringify(next)}\n`);
    renameSync(temporary, file);
    state = next;
    seen = stampOf();
    return next;
  };
  const refresh = (): State => {
    const now = stampOf();
    if (now === null) return write(state ?? first());
    if (state === null || now !== seen) {
      state = JSON.parse(readFileSync(file, 'utf8')) as State;
      seen = now;
    }
    return state;
  };

  mkdirSync(dir, { recursive: true });
  return {
    refresh,
    read: () => state ?? refresh(),
    change: (edit) => {
      const next = structuredClone(refresh());
      const result = edit(next);
      write(next);
      return result;
    },
  };
};
