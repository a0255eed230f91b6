/** The suite every host owes its tasks, on real block devices: disks and images are Linux's own, the rest is simulated. */
import { requires } from '../../../../tools/test/requires.ts';
import { loopSubject } from '../../../test/loop-subject.ts';
import { hostContract, type Part } from '../host.contract.ts';

const SIMULATED = 'simulated here; sim.test.ts has it';
const missing = requires('loop', 'qemu-img', 'sgdisk');

const PARTS = ['disks', 'disks.open', 'disks.wipe', 'images', 'images.clone'] as const;
const OTHERS = [
  'pci',
  'pci.bind',
  'pci.reset',
  'hypervisor',
  'network',
  'network.ports',
  'fabric',
  'gpu',
  'system',
  'users',
  'access',
] as const satisfies readonly Exclude<Part, (typeof PARTS)[number]>[];

hostContract('linux on loop devices', loopSubject, {
  lacks: {
    ...Object.fromEntries(OTHERS.map((part) => [part, SIMULATED])),
    ...(missing === false ? {} : Object.fromEntries(PARTS.map((part) => [part, missing]))),
  },
});
