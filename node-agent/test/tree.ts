/** Directories in place of /sys, /proc and /dev, and programs in place of a host's tools. */
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Text for a file, null for an empty directory, a link for its target. */
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

const driver = (name: string): Tree => ({ driver: { link: `../../../../../../bus/pci/drivers/${name}` } });
const group = (number: number): Tree => ({ iommu_group: { link: `../../../../../../kernel/iommu_groups/${number}` } });
const inGroup = (number: number, address: string): Tree => ({
  [`/sys/kernel/iommu_groups/${number}/devices/${address}`]: { link: `../../../../bus/pci/devices/${address}` },
});

const nvme = (path: string, controller: number, serial: string): Tree => {
  const name = `nvme${controller}`;
  const block = `${name}n1`;
  return {
    ...device(path, '144d', 'a824', '010802', {
      ...driver('nvme'),
      [`nvme/${name}/${block}/dev`]: `259:${controller}\n`,
      [`nvme/${name}/${block}/size`]: '2048\n',
      [`nvme/${name}/${block}/holders`]: null,
      [`nvme/${name}/${block}/queue/discard_max_bytes`]: '2199023255040\n',
      [`nvme/${name}/${block}/eui`]: `aa bb cc dd 00 00 00 0${controller + 1}\n`,
      [`nvme/${name}/${block}/device`]: { link: `../../${name}` },
      [`nvme/${name}/serial`]: `${serial}      \n`,
      [`nvme/${name}/model`]: 'Test NVMe drive\n',
    }),
    [`/sys/block/${block}`]: { link: `../devices/${path}/nvme/${name}/${block}` },
    [`/dev/disk/by-id/nvme-eui.aabbccdd0000000${controller + 1}`]: { link: `../../${block}` },
    [`/dev/disk/by-id/nvme-Test_NVMe_drive_${serial}`]: { link: `../../${block}` },
  };
};

/** One switch with GPU, disk and card, as on an eight-GPU host; `base` is the bus of its root port. */
const slot = (index: number, base: number): Tree => {
  const bus = (offset: number): string => (base + offset).toString(16);
  const port = `pci0000:${bus(0)}/0000:${bus(0)}:01.0`;
  const upstream = `${port}/0000:${bus(1)}:00.0`;
  const below = (number: number, offset: number, fn = 0): string =>
    `${upstream}/0000:${bus(2)}:0${number}.0/0000:${bus(offset)}:00.${fn}`;
  const groups = index * 10;
  return {
    ...device(port, '8086', '352a', '060400'),
    ...device(upstream, '1000', 'c030', '060400'),
    ...device(`${upstream}/0000:${bus(2)}:00.0`, '1000', 'c030', '060400'),
    ...device(`${upstream}/0000:${bus(2)}:01.0`, '1000', 'c030', '060400'),
    ...device(`${upstream}/0000:${bus(2)}:02.0`, '1000', 'c030', '060400'),
    ...device(`${upstream}/0000:${bus(2)}:1f.0`, '1000', '00b2', '010700'),
    ...device(below(0, 3), '15b3', '1021', '020700', {
      ...driver('mlx5_core'),
      ...group(groups + 3),
      virtfn0: { link: `../0000:${bus(3)}:00.1` },
      sriov_totalvfs: '16\n',
      'sriov/0/node': `0c42:a103:0012:345${6 + index}\n`,
      [`infiniband/mlx5_${index}/node_guid`]: '0c42:a103:0012:0000\n',
      [`infiniband/mlx5_${index}/hca_type`]: 'MT4129\n',
      [`infiniband/mlx5_${index}/ports/1/link_layer`]: 'InfiniBand\n',
      [`infiniband/mlx5_${index}/ports/1/state`]: '4: ACTIVE\n',
    }),
    ...device(below(0, 3, 1), '15b3', '101e', '020700', {
      ...driver('vfio-pci'),
      ...group(groups + 4),
      physfn: { link: `../0000:${bus(3)}:00.0` },
      reset_method: 'flr\n',
    }),
    ...nvme(below(1, 4), index, `S64GNE0T00000${index + 1}`),
    [`/sys/devices/${below(1, 4)}/iommu_group`]: { link: `../../../../../../kernel/iommu_groups/${groups + 2}` },
    ...device(below(2, 6), '10de', '2335', '030200', {
      ...driver('vfio-pci'),
      ...group(groups + 1),
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
    ...inGroup(groups + 1, `0000:${bus(6)}:00.0`),
    ...inGroup(groups + 2, `0000:${bus(4)}:00.0`),
    ...inGroup(groups + 3, `0000:${bus(3)}:00.0`),
    ...inGroup(groups + 4, `0000:${bus(3)}:00.1`),
  };
};

/** Two slots, at 16:00.0 and 36:00.0, and a disk of the host itself below a root port. */
export const SWITCH_TREE: Tree = {
  ...slot(0, 0x15),
  ...slot(1, 0x35),
  ...device('pci0000:00/0000:00:1d.0', '8086', '352b', '060400'),
  ...nvme('pci0000:00/0000:00:1d.0/0000:01:00.0', 2, 'BOOT01'),
  '/proc/1/mountinfo': '27 1 259:2 / / rw - ext4 /dev/nvme2n1 rw\n',
  '/proc/swaps': 'Filename Type Size Used Priority\n',
};

/** Programs that record their calls, one line of JSON each, and print a given output. */
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
