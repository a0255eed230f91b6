/** The operating system of a simulated host: version, log, accounts. */
import { HostError, type System } from '../host.ts';
import { TOOL_NAMES } from '../tools.ts';
import type { Core } from './core.ts';
import { hugepagesOf } from './hugepages.ts';
import { hexOf, serialOf, sshKeyOf, uuidOf } from './identity.ts';
import { isMeant } from './slot.ts';

/** Accounts that existed before the agent. */
const SYSTEM_USERS = ['root', 'ubuntu', 'nobody', 'sshd', 'libvirt-qemu'];

const commandLine = (core: Core): string => {
  const { kernel_command_line: line, gpu } = core.profile;
  const words = core.fault('iommu_off') === undefined ? line : line.replaceAll(/ (?:intel_|amd_)?iommu=\S+/g, '');
  return core.vfio_at_boot ? `${words} vfio-pci.ids=${gpu.vendor_device}` : words;
};

type Line = Readonly<{ at: string; text: string }>;

const faultLines = (core: Core): readonly Line[] => {
  const bootedAt = core.store.read().boot.at;
  const hits = (state: 'gpu_off_the_bus' | 'gpu_xid') =>
    core
      .faults(state)
      .flatMap((rule) =>
        core.slots
          .filter(({ gpu }) => isMeant(core, rule, [gpu]))
          .map(({ gpu }) => ({ rule, gpu, short: gpu.slice(0, -2) })),
      );
  return [
    ...hits('gpu_off_the_bus').flatMap(({ rule, gpu, short }) => [
      {
        at: rule.added_at,
        text: `NVRM: Xid (PCI:${short}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.`,
      },
      { at: rule.added_at, text: `NVRM: GPU ${gpu}: GPU has fallen off the bus.` },
    ]),
    // An Xid is logged once: after a reboot the log is a new one.
    ...hits('gpu_xid')
      .filter(({ rule }) => rule.added_at >= bootedAt)
      .map(({ rule, short }) => ({
        at: rule.added_at,
        text: `NVRM: Xid (PCI:${short}): ${rule.value ?? 48}, pid='<unknown>', name=<unknown>`,
      })),
  ];
};

const kernelLog = (core: Core): readonly string[] => {
  const { boot, log } = core.store.read();
  const stamp = (at: string): string =>
    Math.max(0, (Date.parse(at) - Date.parse(boot.at)) / 1000)
      .toFixed(6)
      .padStart(12);
  const first: Line = { at: boot.at, text: `Linux version ${core.profile.kernel}` };
  return [first, ...[...log, ...faultLines(core)].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))].map(
    ({ at, text }) => `[${stamp(at)}] ${text}`,
  );
};

export const createSystem = (core: Core): System => ({
  identity: async () => ({
    product_serial: serialOf('SIM', core.name, 'system'),
    product_uuid: uuidOf(core.name, 'system'),
    machine_id: hexOf(32, core.name, 'machine-id'),
  }),
  facts: () =>
    core.act('system.facts', [], () => {
      const { profile, name } = core;
      const { boot } = core.store.read();
      return {
        hostname: name,
        product: profile.product,
        kernel: profile.kernel,
        kernel_command_line: commandLine(core),
        boot_id: boot.id,
        booted_at: boot.at,
        has_kvm: true,
        secure_boot: profile.secure_boot,
        memory_mib: profile.memory_mib,
        numa: profile.numa.map((node) => ({ ...node })),
        hugepages: hugepagesOf(core),
      };
    }),
  tools: () =>
    core.act('system.tools', [], () =>
      TOOL_NAMES.map((tool) => ({ name: tool, version: core.profile.tools[tool] ?? null })),
    ),
  kernelLog: () => core.act('system.kernelLog', [], () => kernelLog(core)),
  ensureUser: ({ username, ssh_public_keys: keys }) =>
    core.act('system.ensureUser', [username], () => {
      if (SYSTEM_USERS.includes(username)) throw new HostError('conflict', `${username} is an account of the system.`);
      core.store.change(({ users }) => {
        users[username] = { ssh_public_keys: [...keys], sessions: users[username]?.sessions ?? 0 };
      });
    }),
  hasUser: async (username) => {
    if (SYSTEM_USERS.includes(username)) throw new HostError('conflict', `${username} is an account of the system.`);
    return core.store.read().users[username] !== undefined;
  },
  removeUser: (username) =>
    core.act('system.removeUser', [username], () => {
      if (SYSTEM_USERS.includes(username)) throw new HostError('conflict', `${username} is an account of the system.`);
      const user = core.store.read().users[username];
      if (user === undefined) return { sessions_ended: 0, was_present: false };
      core.store.change(({ users }) => {
        delete users[username];
      });
      return { sessions_ended: user.sessions, was_present: true };
    }),
  sshHostKey: () => core.act('system.sshHostKey', [], () => sshKeyOf(core.name, 'host')),
});
