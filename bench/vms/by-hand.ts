/**
 * A VM created by hand from a host and an image: a minimal definition that boots, and a script. Its port and its
 * address exist before; it has none of our checks and no report.
 */
import { writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { SliceLab } from '../../node-agent/test/slice-lab.ts';

const MAC = '02:00:00:00:00:77';
const IP = '10.100.0.77';
const PORT = 'byhand0';
const HOLDER = 'alc_01jtest0000000000000000077';
const NAME = 'by-hand';

export type Image = Readonly<{ disk: string; kernel: string; initrd: string; command_line: string }>;
type Given = Image & Readonly<{ dir: string; vcpu_count: number; memory_mib: number }>;

const definition = (given: Given, device: string): string => `<domain type='qemu'>
  <name>${NAME}</name>
  <memory unit='MiB'>${given.memory_mib}</memory>
  <vcpu>${given.vcpu_count}</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <kernel>${given.kernel}</kernel>
    <initrd>${given.initrd}</initrd>
    <cmdline>${given.command_line}</cmdline>
  </os>
  <features><acpi/><apic/></features>
  <cpu mode='maximum'/>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='block' device='disk'>
      <driver name='qemu' type='raw' cache='none' io='native' discard='unmap'/>
      <source dev='${device}'/><target dev='vda' bus='virtio'/>
    </disk>
    <controller type='scsi' index='0' model='virtio-scsi'/>
    <disk type='file' device='cdrom'>
      <driver name='qemu' type='raw'/>
      <source file='${given.dir}/seed.iso'/><target dev='sda' bus='scsi'/><readonly/>
    </disk>
    <interface type='ethernet'>
      <mac address='${MAC}'/><target dev='${PORT}'/><model type='virtio'/>
      <driver name='qemu'>
        <host csum='off' gso='off' tso4='off' tso6='off' ecn='off' ufo='off'/>
        <guest csum='off' tso4='off' tso6='off' ecn='off' ufo='off'/>
      </driver>
    </interface>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
    <serial type='null'/>
  </devices>
</domain>
`;

const SCRIPT = `qemu-img convert -n --target-is-zero -W -m 16 -t none -f qcow2 -O raw "$image" "$drive"
cp "$dir/seed.iso" "$dir/seed-of-this-one.iso"
virsh -q -c "$connect" define "$dir/domain.xml"
virsh -q -c "$connect" start ${NAME}
until $inside ssh -i "$key" -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no -o BatchMode=yes -o ConnectTimeout=2 \\
  -o LogLevel=ERROR ubuntu@${IP} true 2>/dev/null; do sleep 0.2; done
`;

export const byHand = async (lab: SliceLab, given: Given) => {
  const { network, libvirt, loop } = lab.host;
  const serial = lab.slots[0]?.nvme_serial ?? '';
  const drive = loop.disks.loopOf(serial);
  const port = { name: PORT, mac_address: MAC, private_ip: IP, allocation_id: HOLDER };
  // The emulator runs as a user of its own.
  await chmod(given.dir, 0o755);
  writeFileSync(join(given.dir, 'domain.xml'), definition(given, lab.slots[0]?.nvme_device ?? ''));
  const script = join(given.dir, 'make.sh');
  writeFileSync(script, SCRIPT);
  return {
    mac_address: MAC,
    script,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: given.dir,
      image: given.disk,
      drive,
      dir: given.dir,
      connect: libvirt.connect,
      key: lab.tenant.key_file,
      inside: network.config.command_prefix.join(' '),
    },
    /** Not part of the script or its time. */
    prepare: () => lab.host.host.network.attach(port),
    remove: async () => {
      await libvirt.virsh('destroy', NAME);
      await libvirt.virsh('undefine', NAME);
      await lab.host.host.network.detach(port);
      await network.host.must('blkdiscard', '--force', drive);
    },
  };
};
