import { type AdminOsImage, BOOT_KIND_LABELS, DRIVER_STRATEGY_LABELS } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import { bytes } from '../../../format/size.ts';
import { useSliceSkuChoices } from '../../../resource/choices.ts';
import { type FieldWords, type Form, fieldsOf, sends, type Values } from '../../../resource/form.ts';
import { adminOsImageRegister, adminOsImageRetire, adminOsImageUpdate } from '../../../resource/inputs.gen.ts';
import type { Resource } from '../../../resource/resource-section.tsx';
import { ToneBadge } from '../../../ui/state-badge.tsx';
import { Availability } from '../availability.tsx';
import { REASON } from './shared-fields.ts';

type Version = AdminOsImage['versions'][number];

const USE = {
  sku_names: {
    label: 'SKUs',
    description: 'SKUs of slices that can use the image.',
    useChoices: useSliceSkuChoices,
    flag: 'sku',
  },
  channel: {
    label: 'Channel',
    description: 'A launch that names no image gets a stable one.',
    isShort: true,
    initial: 'stable',
  },
  trust: {
    label: 'Trust',
    description: 'A launch that names no image gets a verified one.',
    isShort: true,
    initial: 'unverified',
  },
} as const satisfies Readonly<Record<string, FieldWords>>;

/** The command reads it from the file. */
const IN_FILE = { flag: null } as const;

const REGISTER = fieldsOf(adminOsImageRegister, {
  name: {
    label: 'Name',
    description: 'The name of an image in the catalog registers a new version of it.',
    rule: 'Use letters, digits, dots and hyphens for the name.',
    placeholder: 'ubuntu-24.04-h200-cuda',
    ...IN_FILE,
  },
  display_name: { label: 'Display name', description: 'What tenants read.', ...IN_FILE },
  os_family: { label: 'Distribution', description: null, placeholder: 'ubuntu', isShort: true, ...IN_FILE },
  os_version: {
    label: 'Version of the distribution',
    description: null,
    placeholder: '24.04',
    isShort: true,
    ...IN_FILE,
  },
  digest: {
    label: 'Digest',
    description: 'Of the file that hosts download. A digest is registered once.',
    rule: 'The digest is sha256: and 64 hexadecimal digits.',
    placeholder: 'sha256:…',
    ...IN_FILE,
  },
  format: { label: 'Format', initial: 'qcow2', isShort: true, ...IN_FILE },
  size_bytes: {
    label: 'Size in bytes',
    isShort: true,
    description: ({ size_bytes }: Values) => (Number(size_bytes) > 0 ? bytes(Number(size_bytes)) : 'Of the file.'),
    ...IN_FILE,
  },
  boot_kind: {
    label: 'Boot kind',
    description: 'It is placed only on hosts that can start it.',
    initial: 'uefi',
    optionLabels: BOOT_KIND_LABELS,
  },
  driver_strategy: {
    label: 'GPU driver',
    description: null,
    initial: 'preinstalled',
    optionLabels: DRIVER_STRATEGY_LABELS,
    ...IN_FILE,
  },
  readiness_checks: {
    label: 'Readiness checks',
    description: 'Run in the guest OS; all must pass. Separated by commas.',
    rule: 'A readiness check is lower-case letters, digits and underscores.',
    placeholder: 'host_name, ssh_host_key, cloud_init',
    ...IN_FILE,
  },
  source: { label: 'Source', ...IN_FILE },
  digest_authority: {
    label: 'Authority for the digest',
    description: 'Source of trust for the digest, such as a team.',
    ...IN_FILE,
  },
  ...USE,
});

export const IMAGE_REGISTER: Form<null> = {
  label: 'Register image',
  submit: 'Register',
  title: 'Register an image',
  permission: 'admin.image.update',
  fields: REGISTER,
  note: () => 'New launches use the newest version. Running allocations keep the version they were launched with.',
  send: sends('adminOsImageRegister', (body) => ({ body })),
  words: () => ['admin', 'image', 'register', 'catalog.json'],
};

/** The fields of the form that an image's build describes in its catalog.json; null if the text is none. */
export const filledFrom = (text: string): Values | null => {
  let entry: unknown;
  try {
    entry = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return null;
  const known = REGISTER.filter(({ name }) => Object.hasOwn(entry, name));
  return Object.fromEntries(
    known.map(({ name }) => {
      const value = (entry as Readonly<Record<string, unknown>>)[name];
      return [
        name,
        Array.isArray(value) ? (name === 'sku_names' ? value.map(String) : value.join(', ')) : String(value),
      ];
    }),
  );
};

const params = ({ name }: AdminOsImage) => ({ image_name: name });

export const IMAGE_EDIT: Form<AdminOsImage> = {
  label: 'Edit',
  submit: 'Save',
  title: ({ name }) => `Edit image ${name}`,
  permission: 'admin.image.update',
  fields: fieldsOf(adminOsImageUpdate, {
    display_name: { label: 'Display name', description: 'What tenants read.' },
    ...USE,
  }),
  isEdit: true,
  send: sends('adminOsImageUpdate', (body, row: AdminOsImage) => ({ params: params(row), body }), {
    version: ({ version }) => version,
  }),
  words: ({ name }) => ['admin', 'image', 'update', name],
};

export const IMAGE_RETIRE: Form<AdminOsImage> = {
  label: 'Retire',
  title: ({ name }) => `Retire image ${name}`,
  permission: 'admin.image.update',
  isDestructive: true,
  note: ({ sku_names }) =>
    `Tenants no longer see it on ${sku_names.join(', ')}. Running allocations continue. Registering it again brings it back.`,
  fields: fieldsOf(adminOsImageRetire, { digest: null, reason: REASON }),
  send: sends('adminOsImageRetire', (body, row: AdminOsImage) => ({ params: params(row), body })),
  words: ({ name }) => ['admin', 'image', 'retire', name],
};

/** A version of the image; it cannot come back. */
export const versionRetire = (image: AdminOsImage): Form<Version> => ({
  label: 'Retire',
  submit: 'Retire version',
  title: `Retire a version of ${image.name}`,
  permission: 'admin.image.update',
  isDestructive: true,
  refusal: ({ retired_at }) => (retired_at === null ? null : 'It is retired.'),
  note: ({ digest }) => {
    const rest = image.versions.filter((one) => one.retired_at === null && one.digest !== digest);
    return (
      <>
        <span className="mono site-digest">{digest}</span>
        <p>
          {rest.length === 0
            ? 'It is the last version: the image is disabled until another one is registered.'
            : 'New launches use the newest version left.'}{' '}
          Running allocations continue. This cannot be undone.
        </p>
      </>
    );
  },
  fields: fieldsOf(adminOsImageRetire, { digest: null, reason: REASON }),
  send: sends('adminOsImageRetire', (body, { digest }: Version) => ({
    params: params(image),
    body: { ...body, digest },
  })),
  words: ({ digest }) => ['admin', 'image', 'retire', image.name, '--digest', digest],
});

export const IMAGES: Resource<AdminOsImage> = {
  title: 'Images',
  empty: {
    title: 'No images',
    text: 'An image is what a launch boots. Register one with the catalog.json of its build.',
  },
  list: { operation: 'adminOsImageList', hasRetired: true },
  keyOf: ({ name }) => name,
  nameOf: ({ name }) => name,
  retiredAt: ({ retired_at }) => retired_at,
  columns: [
    {
      header: 'Image',
      cell: ({ name, display_name }) => (
        <>
          <Link className="link mono" to="/site/catalog" search={{ tab: 'images', image: name }}>
            {name}
          </Link>
          <div className="muted">{display_name}</div>
        </>
      ),
    },
    { header: 'State', cell: (row) => <Availability of={row} /> },
    {
      header: 'Trust',
      cell: ({ trust, channel }) => (
        <>
          <ToneBadge tone={trust === 'verified' ? 'good' : 'warn'}>
            {trust === 'verified' ? 'Verified' : 'Unverified'}
          </ToneBadge>
          <div className="muted">{channel}</div>
        </>
      ),
      isSecondary: true,
    },
    {
      header: 'Default',
      cell: ({ default_regions, default_blockers }) =>
        default_regions.length > 0 ? (
          default_regions.map((name) => <div key={name}>{name}</div>)
        ) : (
          <span className="muted" title={default_blockers.join(' ')}>
            Cannot be the default
          </span>
        ),
    },
    {
      header: 'SKUs',
      cell: ({ sku_names }) => sku_names.map((name) => <div key={name}>{name}</div>),
      isSecondary: true,
    },
    {
      header: 'Size',
      align: 'right',
      cell: ({ size_bytes }) => <span className="nowrap">{bytes(size_bytes)}</span>,
      isSecondary: true,
    },
  ],
  create: IMAGE_REGISTER,
  changes: [IMAGE_EDIT, IMAGE_RETIRE],
};
