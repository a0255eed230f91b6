/** Folders that stand in for /sys, /proc and /dev, and programs that stand in for a host's tools. */
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Text for a file, null for an empty folder, a link for where it points. */
export type Tree = Readonly<Record<string, string | null | Readonly<{ link: string }>>>;

export const putTree = async (root: string, tree: Tree): Promise<void> => {
  for (const [path, content] of Object.entries(tree)) {
    const at = join(root, path);
    if (content === null) await mkdir(at, { recursive: true });
    else {
      await mkdir(dirname(at), { recursive: true });
      if (typeof content === 'string') await writeFile(at, content);
      else {
        await rm(at, { force: true });
        await symlink(content.link, at);
      }
    }
  }
};

export const makeTree = async (tree: Tree): Promise<Readonly<{ root: string; remove(): Promise<void> }>> => {
  const root = await mkdtemp(join(tmpdir(), 'gpuaas-tree-'));
  await putTree(root, tree);
  return { root, remove: () => rm(root, { recursive: true, force: true }) };
};

const device = (path: string, vendor: string, id: string, code: string, more: Tree = {}): Tree => {
  const folder = `/sys/devices/${path}`;
  const address = path.split('/').at(-1) ?? '';
  return {
    [`/sys/bus/pci/devices/${address}`]: { link: `../../../devices/${path}` },
    [`${folder}/vendor`]: `0x${vendor}\n`,
    [`${folder}/device`]: `0x${id}\n`,
    [`${folder}/class`]: `0x${code}\n`,
    [`${folder}/numa_node`]: '0\n',
    ...Object.fromEntries(Object.entries(more).map(([name, content]) => [`${folder}/${name}`, content])),
  };
};

const SWITCH = 'pci0000:15/0000:15:01.0/0000:16:00.0';
const group = (number: number): Tree => ({ iommu_group: { link: `../../../../../../kernel/iommu_groups/${number}` } });
const driver = (name: string): Tree => ({ driver: { link: `../../../../../../bus/pci/drivers/${name}` } });
const inGroup = (number: number, address: string): Tree => ({
  [`/sys/kernel/iommu_groups/${number}/devices/${address}`]: { link: `../../../../bus/pci/devices/${address}` },
});

/** One switch with GPU, drive and card, as on an eight-GPU host: 17 to 19 are its downstream ports. */
export const SWITCH_TREE: Tree = {
  ...device('pci0000:15/0000:15:01.0', '8086', '352a', '060400'),
  ...device(SWITCH, '1000', 'c030', '060400'),
  ...device(`${SWITCH}/0000:17:00.0`, '1000', 'c030', '060400'),
  ...device(`${SWITCH}/0000:17:01.0`, '1000', 'c030', '060400'),
  ...device(`${SWITCH}/0000:17:02.0`, '1000', 'c030', '060400'),
  ...device(`${SWITCH}/0000:17:1f.0`, '1000', '00b2', '010700'),
  ...device(`${SWITCH}/0000:17:00.0/0000:18:00.0`, '15b3', '1021', '020700', {
    ...driver('mlx5_core'),
    ...group(3),
    virtfn0: { link: '../0000:18:00.1' },
    sriov_totalvfs: '16\n',
    'sriov/0/node': '0c42:a103:0012:3456\n',
    'infiniband/mlx5_0/node_guid': '0c42:a103:0012:0000\n',
    'infiniband/mlx5_0/hca_type': 'MT4129\n',
    'infiniband/mlx5_0/ports/1/link_layer': 'InfiniBand\n',
    'infiniband/mlx5_0/ports/1/state': '4: ACTIVE\n',
  }),
  ...device(`${SWITCH}/0000:17:00.0/0000:18:00.1`, '15b3', '101e', '020700', {
    ...driver('vfio-pci'),
    ...group(4),
    physfn: { link: '../0000:18:00.0' },
    reset_method: 'flr\n',
  }),
  ...device(`${SWITCH}/0000:17:01.0/0000:19:00.0`, '144d', 'a824', '010802', {
    ...driver('nvme'),
    ...group(2),
    'nvme/nvme0/nvme0n1/dev': '259:0\n',
    'nvme/nvme0/nvme0n1/size': '2048\n',
    'nvme/nvme0/nvme0n1/holders': null,
    'nvme/nvme0/nvme0n1/queue/discard_max_bytes': '2199023255040\n',
    'nvme/nvme0/nvme0n1/eui': 'aa bb cc dd 00 00 00 01\n',
    'nvme/nvme0/nvme0n1/device': { link: '../../nvme0' },
    'nvme/nvme0/serial': 'S64GNE0T000001      \n',
    'nvme/nvme0/model': 'Test NVMe drive\n',
  }),
  ...device(`${SWITCH}/0000:17:02.0/0000:1b:00.0`, '10de', '2335', '030200', {
    ...driver('vfio-pci'),
    ...group(1),
    reset_method: 'flr bus\n',
    resource: [
      '0x0000380042000000 0x0000380042ffffff 0x000000000014220c',
      '0x0000000000000000 0x0000000000000000 0x0000000000000000',
      '0x0000380000000000 0x0000383fffffffff 0x000000000014220c',
    ].join('\n'),
    current_link_speed: '32.0 GT/s PCIe\n',
    current_link_width: '16\n',
    max_link_speed: '32.0 GT/s PCIe\n',
    max_link_width: '16\n',
  }),
  ...inGroup(1, '0000:1b:00.0'),
  ...inGroup(2, '0000:19:00.0'),
  ...inGroup(3, '0000:18:00.0'),
  ...inGroup(4, '0000:18:00.1'),
  '/sys/block/nvme0n1': {
    link: `../devices/${SWITCH}/0000:17:01.0/0000:19:00.0/nvme/nvme0/nvme0n1`,
  },
  '/dev/disk/by-id/nvme-eui.aabbccdd00000001': { link: '../../nvme0n1' },
  '/dev/disk/by-id/nvme-Test_NVMe_drive_S64GNE0T000001': { link: '../../nvme0n1' },
  '/proc/1/mountinfo': '27 1 8:1 / / rw - ext4 /dev/sda1 rw\n',
  '/proc/swaps': 'Filename Type Size Used Priority\n',
};

/** Programs that write down how they were called, one line of JSON each, and print what they are told to. */
export const makePrograms = async (
  folder: string,
  programs: Readonly<Record<string, string>>,
): Promise<Readonly<{ path: string; log: string }>> => {
  const log = join(folder, 'calls.log');
  await mkdir(folder, { recursive: true });
  for (const [name, body] of Object.entries(programs)) {
    const file = join(folder, name);
    const words = 'for word in "$0" "$@"; do printf "%s " "$word"; done';
    await writeFile(file, `#!/bin/sh\n{ ${words}; printf "\\n"; } >> ${JSON.stringify(log)}\n${body}\n`);
    await chmod(file, 0o755);
  }
  return { path: `${folder}:/usr/bin:/bin`, log };
};
