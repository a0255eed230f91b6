/**
 * A tenant's user data beside the control plane's. A cloud-config is parsed and merged by the rules below; a script
 * stays a separate part. User data cannot override what makes the VM reachable and lets it report: the keys that decide
 * this are refused by name, lists that both have start with the control plane's entries, and forms that could change
 * other parts (includes, patches, handlers, templates) are refused.
 */
import { posix } from 'node:path';
import { HostError } from '../host/host.ts';
import { type Plain, readYaml } from './yaml.ts';

export const USER_DATA_BYTES_MAX = 64 * 1024;

export type CloudConfig = Readonly<Record<string, Plain>>;
export type UserData =
  | Readonly<{ kind: 'none' }>
  | Readonly<{ kind: 'config'; config: CloudConfig }>
  | Readonly<{ kind: 'script'; text: string; content_type: string }>;

/** They decide who can log in, under which name, what runs at all, or whether a part is used. */
const OURS = new Set(
  (
    'hostname fqdn prefer_fqdn_over_hostname preserve_hostname create_hostname_file user ssh_authorized_keys ssh_import_id ' +
    'ssh_deletekeys ssh_genkeytypes ssh_pwauth disable_root disable_root_opts allow_public_ssh_keys network datasource ' +
    'datasource_list system_info vendor_data cloud_init_modules cloud_config_modules cloud_final_modules merge_how ' +
    'merge_type launch-index version'
  ).split(' '),
);
const CONFIG_KEY = /^[a-z][a-z0-9_-]{0,63}$/;
const USER_NAME = /^[a-z_][a-z0-9_-]{0,31}$/;

const SCRIPTS: readonly Readonly<{ start: RegExp; content_type: string }>[] = [
  { start: /^#!/, content_type: 'text/x-shellscript' },
  { start: /^#cloud-boothook\s*\n/, content_type: 'text/cloud-boothook' },
];

const refuse = (why: string): never => {
  throw new HostError('blocked', `user data: ${why}`);
};

const isRecord = (value: Plain | undefined): value is CloudConfig =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const readConfig = (text: string): CloudConfig => {
  let value: Plain;
  try {
    value = readYaml(text);
  } catch (err) {
    return refuse(err instanceof Error ? err.message : String(err));
  }
  if (value === null) return {};
  if (!isRecord(value)) return refuse('a cloud-config is a mapping');
  for (const key of Object.keys(value)) {
    if (!CONFIG_KEY.test(key)) return refuse(`${JSON.stringify(key.slice(0, 80))} is not a key of a cloud-config`);
    if (OURS.has(key)) return refuse(`${key} is set by GPUaaS; remove it`);
  }
  return value;
};

export const readUserData = (text: string | null): UserData => {
  if (text === null || text.trim() === '') return { kind: 'none' };
  if (Buffer.byteLength(text) > USER_DATA_BYTES_MAX) return refuse(`it is larger than ${USER_DATA_BYTES_MAX} bytes`);
  if (text.includes('\0') || !text.isWellFormed()) return refuse('it is not text');
  if (/^#cloud-config[ \t]*\r?\n/.test(`${text}\n`)) return { kind: 'config', config: readConfig(text) };
  const script = SCRIPTS.find(({ start }) => start.test(text));
  return script === undefined
    ? refuse('it starts with neither #cloud-config, #!, nor #cloud-boothook')
    : { kind: 'script', text, content_type: script.content_type };
};

const listOf = (config: CloudConfig, key: string): readonly Plain[] => {
  const value = config[key] ?? [];
  return Array.isArray(value) ? value : refuse(`${key} is to be a list`);
};

const checkUsers = (users: readonly Plain[], taken: string): readonly Plain[] => {
  for (const user of users) {
    const name = isRecord(user) ? user['name'] : user;
    if (typeof name !== 'string' || !USER_NAME.test(name)) return refuse('each of users is a name or has one');
    if (name === taken) return refuse(`user ${name} is set by GPUaaS; choose another name`);
  }
  return users;
};

const checkFiles = (files: readonly Plain[], taken: readonly string[]): readonly Plain[] => {
  for (const file of files) {
    const path = isRecord(file) ? file['path'] : undefined;
    if (typeof path !== 'string') return refuse('each of write_files has a path');
    if (taken.includes(posix.normalize(`/${path}`).replace(/^\/+/, '/')))
      return refuse(`file ${path} is set by GPUaaS; choose another path`);
  }
  return files;
};

/** The control plane's part stays unchanged, whatever the tenant's contains. */
export type PlatformConfig = CloudConfig &
  Readonly<{
    users: readonly [Readonly<{ name: string }> & CloudConfig];
    write_files: readonly (Readonly<{ path: string }> & CloudConfig)[];
    bootcmd: readonly Plain[];
  }>;

export const mergeConfig = (ours: PlatformConfig, theirs: CloudConfig): CloudConfig => ({
  ...theirs,
  ...ours,
  users: [...ours.users, ...checkUsers(listOf(theirs, 'users'), ours.users[0].name)],
  // They run in order, and one that hangs delays those after it.
  bootcmd: [...ours.bootcmd, ...listOf(theirs, 'bootcmd')],
  // The later file of one path wins.
  write_files: [
    ...checkFiles(
      listOf(theirs, 'write_files'),
      ours.write_files.map((file) => file.path),
    ),
    ...ours.write_files,
  ],
});
