/**
 * The configuration of a guest OS at its first boot: who may log in, its name, its network and how to report. The guest
 * OS gets nothing else; nothing in it gives access to the control plane, which the guest OS never contacts.
 */
import type { VmPlan } from '../host/host.ts';
import { dataDisksStart, platformChecks } from './data-disks.ts';
import { allocationId, hostname, macAddress, sshPublicKey, username } from './grammar.ts';
import { KEYS_PATH, KEYS_START, keysScript } from './guest-keys.ts';
import { NETWORK_START } from './guest-network.ts';
import { REPORT_PATH, REPORT_START, reportScript, SSHD_SETTINGS, SSHD_SETTINGS_PATH } from './guest-report.ts';
import { mergeConfig, type PlatformConfig, readUserData } from './user-data.ts';
import { writeYaml } from './yaml.ts';

export type GuestOptions = Readonly<{
  /** The account that the keys of the launch open. */
  username: string;
  /** vendor:device of devices that count as a GPU. */
  accelerators: readonly string[];
  /** Whether its kernel is tuned for a fast network. */
  is_network_tuned?: boolean;
}>;

/** By the file names of the NoCloud data source. */
export type SeedFiles = Readonly<Record<'user-data' | 'meta-data' | 'network-config', string>>;

const HEADER = '#cloud-config\n';
const LOGIN_SHELL = '/bin/bash';

const platformConfig = (machine: VmPlan, guest: GuestOptions): PlatformConfig => ({
  hostname: hostname(machine.seed.hostname),
  preserve_hostname: false,
  users: [
    {
      name: username(guest.username),
      gecos: 'tenant',
      shell: LOGIN_SHELL,
      sudo: 'ALL=(ALL) NOPASSWD:ALL',
      lock_passwd: true,
      ssh_authorized_keys: machine.seed.ssh_public_keys.map(sshPublicKey),
    },
  ],
  disable_root: true,
  ssh_pwauth: false,
  // The host keys of the image are shared by all tenants.
  ssh_deletekeys: true,
  ssh_genkeytypes: ['ed25519', 'ecdsa', 'rsa'],
  write_files: [
    { path: SSHD_SETTINGS_PATH, owner: 'root:root', permissions: '0600', content: SSHD_SETTINGS },
    {
      path: KEYS_PATH,
      owner: 'root:root',
      permissions: '0755',
      content: keysScript(guest.username, machine.seed.ssh_public_keys),
    },
    {
      path: REPORT_PATH,
      owner: 'root:root',
      permissions: '0755',
      content: reportScript(guest.accelerators, machine.seed.readiness_checks, platformChecks(machine.seed.storage)),
    },
  ],
  bootcmd: [
    REPORT_START,
    KEYS_START,
    ...(guest.is_network_tuned === true ? [NETWORK_START] : []),
    // Last: the others are at work if a disk is slow.
    ...dataDisksStart(machine),
  ],
});

const BOUNDARY = '==gpuaas-part==';

/** Base64 contains no boundary, whatever the text. */
const partOf = (contentType: string, name: string, text: string): string =>
  [
    `--${BOUNDARY}`,
    `Content-Type: ${contentType}; charset="utf-8"`,
    'MIME-Version: 1.0',
    'Content-Transfer-Encoding: base64',
    `Content-Disposition: attachment; filename="${name}"`,
    '',
    ...(Buffer.from(text, 'utf8')
      .toString('base64')
      .match(/.{1,76}/g) ?? []),
    '',
  ].join('\n');

const userData = (machine: VmPlan, guest: GuestOptions): string => {
  const ours = platformConfig(machine, guest);
  const theirs = readUserData(machine.seed.user_data);
  if (theirs.kind !== 'script')
    return `${HEADER}${writeYaml(mergeConfig(ours, theirs.kind === 'config' ? theirs.config : {}))}`;
  return [
    `Content-Type: multipart/mixed; boundary="${BOUNDARY}"`,
    'MIME-Version: 1.0',
    '',
    `${partOf('text/cloud-config', 'platform.yaml', `${HEADER}${writeYaml(ours)}`)}${partOf(theirs.content_type, 'tenant', theirs.text)}--${BOUNDARY}--`,
    '',
  ].join('\n');
};

/** Refuses user data that would make any seed invalid, whatever the VM. */
export const checkUserData = (text: string | null, account: string): void => {
  const theirs = readUserData(text);
  const write_files = [SSHD_SETTINGS_PATH, KEYS_PATH, REPORT_PATH].map((path) => ({ path }));
  const ours: PlatformConfig = { users: [{ name: account }], write_files, bootcmd: [] };
  if (theirs.kind === 'config') writeYaml(mergeConfig(ours, theirs.config));
};

/** Cloud-init configures a VM once for each of these: a reinstalled one has another. */
const instanceId = ({ allocation_id, seed: { install = 0 } }: VmPlan): string =>
  install === 0 ? allocationId(allocation_id) : `${allocationId(allocation_id)}-${install}`;

export const cloudInit = (machine: VmPlan, guest: GuestOptions): SeedFiles => ({
  'user-data': userData(machine, guest),
  'meta-data': writeYaml({
    'instance-id': instanceId(machine),
    'local-hostname': hostname(machine.seed.hostname),
  }),
  // The address comes from the host's reservation for this MAC; the tenant configures fabric functions, if it has any.
  'network-config': writeYaml({
    version: 2,
    ethernets: { primary: { match: { macaddress: macAddress(machine.plan.mac_address) }, dhcp4: true, dhcp6: false } },
  }),
});
