/**
 * Whether KVM can be used is found by using it: a /dev/kvm that is there may belong to a hypervisor which emulates every
 * instruction of a guest, or refuses the host's own CPU to it. The probe is a boot sector of 80 bytes on the CPU that real
 * machines get. It enters protected mode, counts to 67 million and ends the emulator with a status of its own: a blink of an
 * eye on a CPU, minutes where each instruction is emulated. The verdict holds until the host boots again.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere } from '../../control-plane/durable.ts';
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
/** What `out 0x501, 0x10` makes of the emulator's status. */
const COUNTED = 33;
const PROBE_MS = 20_000;

const bootSector = (): Buffer => {
  const sector = Buffer.alloc(SECTOR);
  Buffer.from(CODE, 'hex').copy(sector);
  SIGNATURE.copy(sector, SECTOR - SIGNATURE.length);
  return sector;
};

type Given = Readonly<{ config: HypervisorConfig; files: Files; run: Run }>;

/** Whether a guest runs on this accelerator, and if not, why. */
export const probeAccelerator = async (
  { config, run }: Given,
  accelerator: 'kvm' | 'tcg',
): Promise<Readonly<{ is_usable: boolean; reason: string }>> => {
  const disk = join(config.folder, `probe-${process.pid}.img`);
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

/** The verdict on KVM, by the probe of this boot. */
export const judgeKvm = async (given: Given): Promise<Readonly<{ is_usable: boolean; reason: string }>> => {
  const { config, files } = given;
  if (!(await files.exists('/dev/kvm'))) return { is_usable: false, reason: '/dev/kvm is not there' };
  const file = join(config.folder, 'accelerator');
  const bootId = await files.text('/proc/sys/kernel/random/boot_id');
  const [knownBoot, known, why = ''] = ((await readIfThere(file)) ?? '').split('\n');
  if (knownBoot === bootId && (known === 'kvm' || known === 'tcg')) return { is_usable: known === 'kvm', reason: why };
  const { is_usable, reason } = await probeAccelerator(given, 'kvm');
  await writeFile(file, `${bootId}\n${is_usable ? 'kvm' : 'tcg'}\n${reason}\n`);
  return { is_usable, reason };
};

export const chooseAccelerator = async (given: Given): Promise<'kvm' | 'tcg'> => {
  const { accelerator } = given.config;
  if (accelerator !== 'probe') return accelerator;
  return (await judgeKvm(given)).is_usable ? 'kvm' : 'tcg';
};
