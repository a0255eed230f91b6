/**
 * The wipe certificate: what the proofs of an allocation's disks show, in a form that a tenant may see and publish. It
 * is deterministic for the same proofs. Missing evidence is null, never guessed. Serial numbers, PCI addresses, hosts,
 * slots and the place of a proof in its chain are omitted: anything shared by two certificates of one disk would show
 * two tenants that they used the same disk.
 */
import { createHmac } from 'node:crypto';
import type { PublicApi, ResponseOf } from '@gpuaas/contract';
import { WIPE_LEVELS, wipeLevelOf } from '@gpuaas/contract/node';

type Signed = ResponseOf<PublicApi['allocationWipeCertificateGet']>;
export type WipeCertificate = Signed['certificate'];
type Disk = WipeCertificate['disks'][number];

export const CERTIFICATE_FORMAT = 'gpuaas wipe certificate v1';

export type CertifiedProof = Readonly<{
  id: string;
  outcome: Disk['outcome'];
  outcome_before: Disk['outcome_before'];
  method: string;
  evidence: Readonly<Record<string, unknown>>;
  proof_hash: string;
  created_at: string;
}>;

export type CertificateFacts = Readonly<{
  issuer: string;
  allocation: WipeCertificate['allocation'];
  /** A secret of the control plane, for disk pseudonyms. */
  disk_key: Buffer;
  proofs: readonly CertifiedProof[];
}>;

type Reported = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Reported =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectIn = (report: Reported, name: string): Reported | null => {
  const value = report[name];
  return isObject(value) ? value : null;
};
const listIn = (report: Reported, name: string): readonly unknown[] => {
  const value = report[name];
  return Array.isArray(value) ? value : [];
};
const countIn = (report: Reported, name: string): number | null => {
  const value = report[name];
  return Number.isSafeInteger(value) ? Number(value) : null;
};
const textIn = (report: Reported, name: string): string | null => {
  const value = report[name];
  return typeof value === 'string' ? value : null;
};
const oneOf = <const T extends string>(values: readonly T[], value: unknown): T | null =>
  values.find((one) => one === value) ?? null;

/**
 * Identifies the disk within the allocation. A guest OS knows the serial number, so without the secret it could compute
 * the pseudonym.
 */
export const diskFingerprint = (key: Buffer, allocationId: string, serial: string): string =>
  createHmac('sha256', key).update(`${allocationId}\n${serial}`).digest('hex').slice(0, 32);

/** The hash of random content identifies the disk: the next tenant reads the same content. */
const samplesOf = (evidence: Reported): Disk['samples'] =>
  listIn(evidence, 'samples')
    .filter(isObject)
    .map((sample) => ({
      offset: countIn(sample, 'offset') ?? 0,
      length: countIn(sample, 'length') ?? 0,
      sha256: evidence['rule'] === 'blank' ? (textIn(sample, 'sha256') ?? '') : null,
    }));

const diskOf = (disk: string, proof: CertifiedProof): Disk => {
  const { evidence } = proof;
  const reset = objectIn(evidence, 'gpu_reset');
  const fabric = objectIn(evidence, 'fabric_function');
  return {
    disk,
    outcome: proof.outcome,
    outcome_before: proof.outcome_before,
    size_bytes: countIn(evidence, 'size_bytes'),
    method: proof.method,
    level: wipeLevelOf(proof.method),
    erase: oneOf(['crypto', 'block', 'discard'], evidence['erase']),
    command_status: countIn(evidence, 'command_status'),
    rule: oneOf(['blank', 'changed'], evidence['rule']),
    bytes_read_back: countIn(evidence, 'bytes_read_back') ?? 0,
    bytes_not_erased: countIn(evidence, 'bytes_not_erased') ?? 0,
    samples: samplesOf(evidence),
    attempt: countIn(evidence, 'attempt'),
    started_at: textIn(evidence, 'started_at'),
    finished_at: textIn(evidence, 'finished_at') ?? proof.created_at,
    proven_at: proof.created_at,
    gpu_reset:
      reset === null
        ? null
        : {
            method: textIn(reset, 'method') ?? 'none',
            functions: listIn(reset, 'scope').length,
            is_ok: reset['is_ok'] === true,
          },
    fabric_function:
      fabric === null
        ? null
        : { method: textIn(fabric, 'method') ?? 'none', is_cleared: fabric['is_cleared'] === true },
    wipe_proof_id: proof.id,
    proof_hash: proof.proof_hash,
  };
};

/** These checks apply to slices; bare metal has no VM to remove. */
const isolationOf = (
  shape: WipeCertificate['allocation']['capacity_shape'],
  isolation: Reported | undefined,
): WipeCertificate['isolation'] => {
  if (isolation === undefined || shape === 'baremetal') return null;
  const network = objectIn(isolation, 'network') ?? {};
  return {
    is_port_removed: network['is_port_removed'] === true,
    is_reservation_removed: network['is_reservation_removed'] === true,
    is_lease_removed: network['is_lease_removed'] === true,
    is_translation_removed: network['is_translation_removed'] === true,
    // Proofs are never rewritten: earlier ones use the former name.
    is_vm_removed: [isolation['is_vm_removed'], isolation['is_machine_removed']].includes(true),
    is_seed_removed: isolation['is_seed_removed'] === true,
    partitions_deactivated: listIn(isolation, 'partitions').filter(
      (one) => isObject(one) && one['is_deactivated'] === true,
    ).length,
  };
};

/** As many as the proof of the whole node lists; null for slices, which reach no other disk, and where no proof lists them. */
const unwipedOf = (proofs: readonly CertifiedProof[]): number | null =>
  proofs
    .map(({ evidence }) => evidence['unwiped_disks'])
    .filter((listed) => Array.isArray(listed))
    .at(-1)?.length ?? null;

export const certificateOf = ({ issuer, allocation, disk_key, proofs }: CertificateFacts): WipeCertificate => {
  // The proof of a whole node refers to those of its disks and describes no disk itself.
  const disks = proofs.flatMap((proof) => {
    const serial = textIn(proof.evidence, 'serial');
    return serial === null ? [] : [{ serial, proof }];
  });
  return {
    format: CERTIFICATE_FORMAT,
    issuer,
    allocation,
    wipe_minimum: oneOf(WIPE_LEVELS, disks[0]?.proof.evidence['wipe_minimum']),
    disks: disks.map(({ serial, proof }) => diskOf(diskFingerprint(disk_key, allocation.id, serial), proof)),
    unwiped_disks: unwipedOf(proofs),
    isolation: isolationOf(
      allocation.capacity_shape,
      disks.map(({ proof }) => objectIn(proof.evidence, 'isolation')).find((one) => one !== null),
    ),
  };
};

/** RFC 8785: sorted names, no whitespace, so that equal values give equal text. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(',')}}`;
};

/** The signed bytes. */
export const certificateBytes = (certificate: WipeCertificate): Buffer =>
  Buffer.from(`${CERTIFICATE_FORMAT}\n${canonicalJson(certificate)}`, 'utf8');
