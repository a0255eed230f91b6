/** The suite every host owes its tasks: on a recording for what is read, on a tree of files for what is written. */
import { fileURLToPath } from 'node:url';
import { treeSubject } from '../../../test/tree-subject.ts';
import { hostContract, type Part } from '../host.contract.ts';
import { createLinuxHost } from './host.ts';

const LATER = {
  images: 'the linux host has no image cache yet',
  'images.clone': 'the linux host clones no images yet',
  hypervisor: 'the linux host runs no machines yet',
  access: 'no guest runs behind a recording or a tree',
  fabric: 'this host has no NVSwitch: fabric-act.test.ts has some',
} as const satisfies Partial<Record<Part, string>>;

const RECORDED = 'a recording is only read';

hostContract(
  'linux on a recorded H200 guest',
  async () => ({
    host: createLinuxHost({ root: fileURLToPath(new URL('../../../test/recordings/h200-guest', import.meta.url)) }),
    image: 'none',
    slots: [],
    arrange: {},
    close: async () => undefined,
  }),
  {
    lacks: {
      ...LATER,
      'pci.bind': RECORDED,
      'pci.reset': RECORDED,
      'disks.open': RECORDED,
      'disks.wipe': RECORDED,
      'network.ports': RECORDED,
      users: RECORDED,
    },
  },
);

const NO_KERNEL = 'a tree of files has no kernel behind it: pci.test.ts shows what is written';
const NO_SYSTEM = 'the tree is of devices alone';

hostContract('linux on a tree of two slots', treeSubject, {
  lacks: {
    ...LATER,
    'pci.bind': NO_KERNEL,
    'pci.reset': NO_KERNEL,
    'network.ports': 'a tree of files has no switch: network-ports.test.ts has one',
    gpu: NO_SYSTEM,
    system: NO_SYSTEM,
    users: NO_SYSTEM,
  },
});
