/**
 * Fabric Manager and its tool as programs on the path, which store the active partitions in a file. They replace
 * hardware that no test computer has: the options are those of `fmpm`, its list has the format that it prints.
 */

import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HGX_PARTITIONS } from '@gpuaas/contract';
import { hostUnderTest } from '../src/host/contract/subject.ts';
import { createLinuxHost } from '../src/host/linux/host.ts';
import { createRun } from '../src/host/linux/run.ts';
import { makePrograms, makeTree, type Tree } from './tree.ts';

export const VERSION = '580.159.04';

const nvswitch = (bus: string): Tree => ({
  [`/sys/bus/pci/devices/0000:${bus}:00.0`]: { link: `../../../devices/pci0000:80/0000:${bus}:00.0` },
  [`/sys/devices/pci0000:80/0000:${bus}:00.0/vendor`]: '0x10de\n',
  [`/sys/devices/pci0000:80/0000:${bus}:00.0/device`]: '0x22a3\n',
  [`/sys/devices/pci0000:80/0000:${bus}:00.0/class`]: '0x068000\n',
});

/**
 * Activating the same partition twice returns an error status; a file `broken` makes it report success without doing
 * anything. While there is a file `waiting`, it accepts no order until the partitions in use are declared, as after a
 * start in restart mode.
 */
const fmpm = (root: string): string => `
active=${root}/active
touch "$active"
json() {
  n=0; comma=
  printf '{"partitionInfo":['
  while read -r modules; do
    on=0; grep -qx "$n" "$active" && on=1
    printf '%s{"partitionId":%s,"isActive":%s,"numGpus":1,"gpuInfo":[' "$comma" "$n" "$on"
    inner=
    for module in $modules; do printf '%s{"physicalId":%s}' "$inner" "$module"; inner=,; done
    printf ']}'
    comma=,; n=$((n + 1))
  done <${root}/partitions
  printf ']}\\n'
}
[ -e ${root}/broken ] && [ "$1" != -l ] && { echo 'Partition activation failed. NVLink error' >&2; exit 240; }
[ -e ${root}/waiting ] && case $1 in -a|-d) echo 'Fabric Manager is not configured' >&2; exit 246 ;; esac
case $1 in
  -l) json ;;
  -a) grep -qx "$2" "$active" && exit 239; echo "$2" >>"$active" ;;
  -d) grep -qx "$2" "$active" || exit 238; grep -vx "$2" "$active" >"$active.new"; mv "$active.new" "$active" ;;
  --set-activated-list) rm -f ${root}/waiting; echo "$2" | tr , '\\n' | grep . >"$active" ;;
  *) exit 1 ;;
esac
exit 0`;

export const makeFabricHost = async () => {
  const tree = await makeTree({
    ...nvswitch('83'),
    ...nvswitch('84'),
    '/sys/module/nvidia/version': `${VERSION}\n`,
    '/usr/share/nvidia/nvswitch/fabricmanager.cfg': 'FABRIC_MODE=1\nFABRIC_MODE_RESTART=1\n',
    '/partitions': `${HGX_PARTITIONS.map((modules) => modules.join(' ')).join('\n')}\n`,
    '/state': 'active\n',
  });
  const at = (name: string): string => join(tree.root, name);
  const { path, log } = await makePrograms(at('bin'), {
    systemctl: `state=$(cat ${at('state')}); echo "$state"; [ "$state" = active ] || exit 3`,
    'nv-fabricmanager': `echo "Fabric Manager version is : ${VERSION}"`,
    fmpm: fmpm(tree.root),
  });
  return {
    host: createLinuxHost({ root: tree.root, run: createRun(path) }),
    /** The calls of the tool, except lists. */
    acts: async (): Promise<readonly string[]> =>
      (await readFile(log, 'utf8'))
        .split('\n')
        .flatMap((line) => /\/fmpm (.*?) ?$/.exec(line)?.[1] ?? [])
        .filter((args) => args !== '-l'),
    put: (name: string, text: string) => writeFile(at(name), text),
    /** As after a restart: it has no active partition, while VMs keep running. */
    restart: () => rm(at('active'), { force: true }),
    close: tree.remove,
  };
};

export const fabricHost = hostUnderTest({
  name: 'linux with Fabric Manager',
  kind: 'linux',
  capabilities: { parts: ['fabric'], slots: 0, arrange: ['restartFabricManager'] },
  simulated: [],
  make: async () => {
    const { host, restart, close } = await makeFabricHost();
    return { host, image: 'none', slots: [], arrange: { restartFabricManager: restart }, close };
  },
});
