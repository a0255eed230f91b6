/**
 * Tests whether KVM works by using it: an existing /dev/kvm may belong to a hypervisor that emulates every instruction,
 * or refuses the host's CPU model. The probe is a boot sector of 80 bytes on the CPU model that VMs get. It enters
 * protected mode, counts to 67 million and ends the emulator with its own status: instant on a CPU, minutes with
 * emulation. Success holds until the host reboots; failure may be temporary, so it is tested again after a while.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere, writeDurably } from '../../control-plane/durable.ts';
import { HostError } from '../host.ts';
import type { Files } from './files.ts';
import type { HypervisorConfig } from './hypervisor-config.ts';
import type { Run } from './run.ts';

/**
 * cli; ds = 0; lgdt; cr0 |= 1; jump to 32-bit code; ds = 0x10; for (ecx = 0x4000000; --ecx; ); out 0x501, 0x10; hlt.
 * The descriptor table follows: nothing, code, data, each over all of memory.
 */
const CODE =
  'fa31c08ed80f0116487c0f20c00c010f22c0ea177c080066b810008ed8b9000000044975fd66ba0105b010eef4ebfd90' +
  '0000000000000000ffff0000009acf00ffff00000092cf001700307c0000';
const SECTOR = 512;
const SIGNATURE = Buffer.from([0x55, 0xaa]);
/** The exit status of the emulator after `out 0x501, 0x10`. */
const COUNTED = 33;
const PROBE_MS = 20_000;
/** If no guest runs, not every start waits for another probe. */
const FAILED_MS = 5 * 60_000;

const bootSector = (): Buffer => {
  const sector = Buffer.alloc(SECTOR);
  Buffer.from(CODE, 'hex').copy(sector);
  SIGNATURE.copy(sector, SECTOR - SIGNATURE.length);
  return sector;
};

type Verdict = Readonly<{ is_usable: boolean; reason: string }>;
type Given = Readonly<{ config: HypervisorConfig; files: Files; run: Run; now?: () => number }>;

/** Whether a guest runs on this accelerator, and if not, why. */
export const probeAccelerator = async ({ config, run }: Given, accelerator: 'kvm' | 'tcg'): Promise<Verdict> => {
  const disk = join(config.folder, `probe-${randomUUID()}.img`);
  await mkdir(config.folder, { recursive: true, mode: 0o711 });
  await writeFile(disk, bootSector());
  try {
    const { status, stderr } = await run({
      argv: [
        config.emulator,
        ...['-nodefaults', '-display', 'none', '-m', '16'],
        ...['-machine', `pc,accel=${accelerator}`, '-cpu', accelerator === 'kvm' ? 'host' : 'max'],
        ...['-drive', `file=${disk},format=raw,if=floppy,readonly=on`],
        ...['-device', 'isa-debug-exit,iobase=0x501,iosize=1'],
      ],
      recorded: 'qemu-probe.txt',
      timeout_ms: PROBE_MS,
      ends_with_agent: true,
    });
    return { is_usable: status === COUNTED, reason: stderr.trim().split('\n').at(-1) || `status ${status}` };
  } catch (error) {
    if (error instanceof HostError && error.code !== 'unsupported') return { is_usable: false, reason: error.message };
    throw error;
  } finally {
    await rm(disk, { force: true });
  }
};

/** Concurrent callers wait for the running probe: parallel probes would slow each other down. */
const probing = new Map<string, Promise<Verdict>>();
const failed = new Map<string, Readonly<{ verdict: Verdict; until: number }>>();

const probeOnce = (given: Given, file: string, bootId: string): Promise<Verdict> => {
  const { now = () => performance.now() } = given;
  const earlier = failed.get(file);
  if (earlier !== undefined && now() < earlier.until) return Promise.resolve(earlier.verdict);
  const running = probing.get(file);
  if (running !== undefined) return running;
  const probe = (async () => {
    const verdict = await probeAccelerator(given, 'kvm');
    if (verdict.is_usable) await writeDurably(file, `${bootId}\nkvm\n${verdict.reason}\n`);
    else failed.set(file, { verdict, until: now() + FAILED_MS });
    return verdict;
  })().finally(() => probing.delete(file));
  probing.set(file, probe);
  return probe;
};

/** The result for KVM, by the probe of this boot. */
export const checkKvm = async (given: Given): Promise<Verdict> => {
  const { config, files } = given;
  if (!(await files.exists('/dev/kvm'))) return { is_usable: false, reason: '/dev/kvm is not there' };
  const file = join(config.folder, 'accelerator');
  const bootId = await files.text('/proc/sys/kernel/random/boot_id');
  const [knownBoot, known, why = ''] = ((await readIfThere(file)) ?? '').split('\n');
  if (knownBoot === bootId && known === 'kvm') return { is_usable: true, reason: why };
  return probeOnce(given, file, bootId);
};

export const chooseAccelerator = async (given: Given): Promise<'kvm' | 'tcg'> => {
  const { accelerator } = given.config;
  if (accelerator !== 'probe') return accelerator;
  return (await checkKvm(given)).is_usable ? 'kvm' : 'tcg';
};
