/**
 * The identity of a host: serial number and system UUID of its board, and the machine ID of its operating system. A node
 * is bound to one host. Values that a vendor left as they were identify nothing. A host proves no identity: it reports
 * one, so the binding stops a token on the wrong host and a copied certificate, not a host that knows and repeats the
 * identity of another.
 */
export const HOST_FIELDS = ['product_serial', 'product_uuid', 'machine_id'] as const;
export type HostField = (typeof HOST_FIELDS)[number];
export type HostIdentity = Readonly<Record<HostField, string | null>>;

const NAMES: Readonly<Record<HostField, string>> = {
  product_serial: 'serial number',
  product_uuid: 'system UUID',
  machine_id: 'machine ID',
};
/** Fields of the board. They outlive a reinstalled operating system, which gets another machine ID. */
const HARDWARE = ['product_serial', 'product_uuid'] as const;

const PLACEHOLDERS: ReadonlySet<string> = new Set([
  'NONE',
  'NULL',
  'EMPTY',
  'UNKNOWN',
  'INVALID',
  'DEFAULT',
  'DEFAULTSTRING',
  'NA',
  'NOTAPPLICABLE',
  'NOTAVAILABLE',
  'NOTSPECIFIED',
  'NOTPRESENT',
  'NOTSETTABLE',
  'TBD',
  'CHANGEME',
  'STANDARD',
  'OEM',
  'TOBEFILLEDBYOEM',
  'FILLBYOEM',
  'SERIAL',
  'SERIALNUMBER',
  'SYSTEMSERIALNUMBER',
  'SYSTEMPRODUCTNAME',
  'CHASSISSERIALNUMBER',
  'BASEBOARDSERIALNUMBER',
  'BOARDSERIALNUMBER',
  'TYPE2BOARDSERIALNUMBER',
  '0123456789',
  '01234567890123456789',
  '1234567890',
  '123456789',
  '12345678',
  '1234567',
  '123456',
  'ABCDEFGH',
]);

/** Of boards whose vendor set none; in both byte orders. */
const PLACEHOLDER_UUIDS: ReadonlySet<string> = new Set([
  '03000200-0400-0500-0006-000700080009',
  '00020003-0004-0005-0006-000700080009',
  '12345678-1234-5678-90ab-cddeefaabbcc',
  '01020304-0506-0708-090a-0b0c0d0e0f10',
]);

const hasVariety = (text: string, least: number): boolean => new Set(text).size >= least;

const serialOf = (raw: string): string | null => {
  const serial = raw.trim().replaceAll(/\s+/g, ' ').toUpperCase();
  const letters = serial.replaceAll(/[^A-Z0-9]/g, '');
  if (!/^[!-~](?:[ -~]{0,126}[!-~])?$/.test(serial) || letters.length < 3 || !hasVariety(letters, 2)) return null;
  return PLACEHOLDERS.has(letters) ? null : serial;
};

const uuidOf = (raw: string): string | null => {
  const uuid = raw.trim().toLowerCase();
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid) || PLACEHOLDER_UUIDS.has(uuid)) return null;
  return hasVariety(uuid.replaceAll('-', ''), 4) ? uuid : null;
};

const machineIdOf = (raw: string): string | null => {
  const id = raw.trim().toLowerCase().replaceAll('-', '');
  return /^[0-9a-f]{32}$/.test(id) && hasVariety(id, 4) ? id : null;
};

const READERS = { product_serial: serialOf, product_uuid: uuidOf, machine_id: machineIdOf } as const;

/** The comparable form of what a host or an operator gave; null where it identifies no host. */
export const normalizeHost = (raw: Readonly<Partial<Record<HostField, string | null | undefined>>>): HostIdentity => {
  const one = (field: HostField): string | null => {
    const value = raw[field];
    return value == null ? null : READERS[field](value);
  };
  return {
    product_serial: one('product_serial'),
    product_uuid: one('product_uuid'),
    machine_id: one('machine_id'),
  };
};

export const knownFields = (host: HostIdentity): HostField[] => HOST_FIELDS.filter((field) => host[field] !== null);

/** "serial number X1" of what an operator named, for a sentence. */
export const describeHost = (host: HostIdentity): string =>
  knownFields(host)
    .map((field) => `${NAMES[field]} ${host[field]}`)
    .join(', ');

/** The first given value that identifies no host; undefined if all do. */
export const unusableField = (
  raw: Readonly<Partial<Record<HostField, string | undefined>>>,
): Readonly<{ field: HostField; name: string }> | undefined => {
  const host = normalizeHost(raw);
  const field = HOST_FIELDS.find((each) => raw[each] !== undefined && host[each] === null);
  return field && { field, name: NAMES[field] };
};

/** The host that a node expects. `named`: the fields that an operator named, which must all match. */
export type ExpectedHost = Readonly<{ host: HostIdentity; named: readonly HostField[] }>;

export type HostMismatch = Readonly<{ field: HostField | null; sentence: string }>;

const mismatch = (field: HostField | null, sentence: string): HostMismatch => ({ field, sentence });

export const NO_IDENTITY =
  'This host reports no usable serial number, system UUID or machine ID. Create a machine ID with systemd-machine-id-setup.';

/**
 * Why the host that reports is not the expected one; null if it is. Sentences name the field and never the expected
 * value, which the holder of a stolen token must not learn.
 */
export const hostMismatch = ({ host, named }: ExpectedHost, reported: HostIdentity): HostMismatch | null => {
  if (knownFields(reported).length === 0) return mismatch(null, NO_IDENTITY);
  const differing = (field: HostField): boolean =>
    host[field] !== null && reported[field] !== null && host[field] !== reported[field];
  const equal = (field: HostField): boolean => host[field] !== null && host[field] === reported[field];
  for (const field of named)
    if (!equal(field))
      return mismatch(
        field,
        reported[field] === null
          ? `This host reports no usable ${NAMES[field]}, and the operator named one.`
          : `The ${NAMES[field]} of this host is not the one that the operator named.`,
      );
  const wrong = HARDWARE.find(differing);
  if (wrong !== undefined)
    return mismatch(wrong, `The ${NAMES[wrong]} of this host is not the one that the node is bound to.`);
  // A cloned system disk brings the machine ID along, so a known board must be recognized by itself.
  const isBoardKnown = HARDWARE.some((field) => host[field] !== null);
  if (isBoardKnown ? HARDWARE.some(equal) : equal('machine_id')) return null;
  if (isBoardKnown)
    return mismatch(null, 'This host reports no serial number or system UUID that the node is bound to.');
  return differing('machine_id')
    ? mismatch('machine_id', 'The machine ID of this host is not the one that the node is bound to.')
    : mismatch(null, 'This host reports no identity that the node is bound to.');
};

/** The identity to keep of a host that is the expected one: what was not known before, and its newest machine ID. */
export const learnHost = (host: HostIdentity, reported: HostIdentity): HostIdentity => ({
  product_serial: host.product_serial ?? reported.product_serial,
  product_uuid: host.product_uuid ?? reported.product_uuid,
  machine_id: reported.machine_id ?? host.machine_id,
});

/** A cloned operating system has the machine ID of another host; where the board is known, that ID is left out. */
export const withoutMachineId = (host: HostIdentity): HostIdentity | null =>
  HARDWARE.some((field) => host[field] !== null) ? { ...host, machine_id: null } : null;
