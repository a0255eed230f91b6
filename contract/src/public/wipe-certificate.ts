/**
 * The signed record of the wipe of a tenant's disks, which others can verify. It names no host, no slot and no address. A
 * disk is a fingerprint of its serial number and the allocation with a secret of the control plane, and a proof is listed
 * without its position in the chain. Two certificates therefore do not reveal that two tenants had the same disk, not even
 * to those tenants, who may have read its serial number.
 */
import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { WIPE_LEVELS } from '../node/wipe.ts';
import { CAPACITY_SHAPES } from './catalog.ts';

const Hash = Type.String({ pattern: '^[0-9a-f]{64}$', examples: ['9f86d081884c7d659a2feaa0c55ad015'.repeat(2)] });
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Level = StringEnum(WIPE_LEVELS, { description: 'Level of NIST SP 800-88.' });

export const WIPE_OUTCOMES = ['verified', 'overridden', 'failed'] as const;
/** With either of these a slot may become available; with an override only where the region allows it. */
export const ACCEPTED_WIPE_OUTCOMES = [
  'verified',
  'overridden',
] as const satisfies readonly (typeof WIPE_OUTCOMES)[number][];

const OVERRIDDEN = '`overridden`: two operators accepted the wipe without proof.';
const AcceptedOutcome = (description: string) =>
  StringEnum(ACCEPTED_WIPE_OUTCOMES, { description: `${description} ${OVERRIDDEN}` });

const CertifiedDisk = Closed({
  disk: Type.String({
    pattern: '^[0-9a-f]{32}$',
    examples: ['9f2c4e1ab07d835566e1d0c4a98b7f32'],
    description:
      'Fingerprint of the disk within this allocation, derived from the serial number with a secret of the server.',
  }),
  outcome: AcceptedOutcome('How the wipe was accepted.'),
  outcome_before: Nullable(
    AcceptedOutcome('How the wipe before this allocation was accepted; null without one on record.'),
  ),
  size_bytes: Nullable(Count),
  method: Type.String({ examples: ['nvme_sanitize'] }),
  level: Nullable(Level),
  erase: Nullable(StringEnum(['crypto', 'block', 'discard'])),
  command_status: Nullable(Type.Integer({ description: 'Exit status of the wipe command; 0 is success.' })),
  rule: Nullable(
    StringEnum(['blank', 'changed'], {
      description:
        '`blank`: the read-back found only zeros or ones. `changed`: it found data that differs from the data before the wipe.',
    }),
  ),
  bytes_read_back: Count,
  bytes_not_erased: Count,
  samples: Type.Array(
    Closed({
      offset: Count,
      length: Count,
      sha256: Nullable(
        Type.String({
          description: 'Hash of the data found. Null for noise, which the next tenant could read as well.',
        }),
      ),
    }),
  ),
  attempt: Nullable(Count),
  started_at: Nullable(Time('When the wipe started, by the clock of the host.')),
  finished_at: Time('When the read-back ended, by the clock of the host.'),
  proven_at: Time('When the server accepted it as proof.'),
  gpu_reset: Nullable(
    Closed({
      method: Type.String({ examples: ['bus'] }),
      functions: Type.Integer({ description: 'Number of PCI functions that were reset, all of this GPU.' }),
      is_ok: Type.Boolean({ description: 'Whether the reset succeeded. The GPU stays unschedulable until it does.' }),
    }),
  ),
  fabric_function: Nullable(
    Closed({
      method: Type.String(),
      is_cleared: Type.Boolean({
        description: 'The fabric function was reset and responded afterwards. Its MAC and GUID are not read back.',
      }),
    }),
  ),
  wipe_proof_id: Id('wipe_proof'),
  proof_hash: Hash,
});

export const WipeCertificate = Closed({
  format: Type.Literal('gpuaas wipe certificate v1'),
  issuer: Type.String({ description: 'URL of the server that issued it.' }),
  allocation: Closed({
    id: Id('allocation'),
    name: Type.String(),
    project_id: Id('project'),
    organization_id: Id('organization'),
    capacity_shape: StringEnum(CAPACITY_SHAPES),
    sku_name: Type.String(),
    region_name: Type.String(),
    gpu_count: Type.Integer(),
    activated_at: Nullable(Time('When the allocation became active.')),
    release_requested_at: Nullable(Time('When its release was requested.')),
    released_at: Nullable(Time('When the wipe was verified.')),
  }),
  wipe_minimum: Nullable(Level),
  disks: Type.Array(CertifiedDisk),
  unwiped_disks: Nullable(
    Type.Integer({
      minimum: 0,
      description:
        'Number of disks that the tenant of a whole node could write to and that no wipe covered: an operator excluded them, or they were added during the allocation. Boot disks are not counted. Null for a slice, which reaches no other disk, and for a release before this field existed.',
    }),
  ),
  isolation: Nullable(
    Closed({
      is_port_removed: Type.Boolean(),
      is_reservation_removed: Type.Boolean(),
      is_lease_removed: Type.Boolean(),
      is_translation_removed: Type.Boolean(),
      is_vm_removed: Type.Boolean(),
      is_seed_removed: Type.Boolean(),
      partitions_deactivated: Count,
    }),
  ),
});

export const SignedWipeCertificate = Closed({
  certificate: WipeCertificate,
  signature: Closed({
    key_id: Id('trust_key'),
    algorithm: Type.Literal('Ed25519'),
    value: Type.String({
      description:
        'Base64, over the line "gpuaas wipe certificate v1" and the certificate as canonical JSON (RFC 8785), in UTF-8.',
    }),
  }),
});

export const WipeCertificateKey = Closed({
  key_id: Id('trust_key'),
  state: StringEnum(['active', 'grace', 'retired', 'revoked'], {
    description: 'Signatures of a revoked key are invalid. Keys in the other states verify; only the active key signs.',
  }),
  public_key_pem: Type.String(),
  fingerprint_sha256: Hash,
  created_at: Time('When it was created.'),
});

export const WipeProof = Closed({
  id: Id('wipe_proof'),
  node_id: Id('node'),
  slot_id: Nullable(Type.String()),
  allocation_id: Nullable(Type.String()),
  disk_serial: Nullable(Type.String()),
  task_id: Type.String(),
  method: Type.String(),
  outcome: StringEnum(WIPE_OUTCOMES, { description: OVERRIDDEN }),
  evidence: Type.Object({}, { additionalProperties: true }),
  correlation_id: Type.String(),
  sequence: Type.Integer(),
  previous_hash: Hash,
  proof_hash: Hash,
  created_at: Time('When the server stored it.'),
});

const read = { method: 'GET', audit: null, idempotency: 'none', status: 200 } as const;

export const wipeCertificateApi = define({
  allocationWipeCertificateGet: {
    ...read,
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/wipe-certificate',
    tag: 'Allocations',
    summary: 'Get the signed wipe certificate of an allocation',
    description: 'Available when the wipe is proven; until then 409 states what is missing.',
    access: 'project',
    permission: 'allocation.read',
    params: Closed({ project_id: Id('project'), allocation_id: Id('allocation') }),
    response: SignedWipeCertificate,
    errors: ['conflict'],
  },
  wipeCertificateKeyList: {
    ...read,
    path: '/api/v1/wipe-certificate-keys',
    tag: 'Allocations',
    summary: 'List public keys that verify wipe certificates, newest first; needs no sign-in',
    access: 'public',
    permission: null,
    query: Closed({ ...PageQuery }),
    response: Page(WipeCertificateKey),
  },
  adminNodeSlotProofList: {
    ...read,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/wipe-proofs',
    tag: 'Placement',
    summary: 'List wipe proofs of a slot, newest first, including failed ones',
    access: 'platform',
    permission: 'admin.node.read',
    params: Closed({ node_id: Id('node'), slot_id: Id('slot') }),
    query: Closed({ ...PageQuery }),
    response: Page(WipeProof),
  },
  adminWipeProofVerify: {
    ...read,
    path: '/api/v1/admin/wipe-proofs/verify',
    tag: 'Audit',
    summary: 'Verify the chains of wipe proofs against their audit rows',
    access: 'platform',
    permission: 'admin.audit.verify',
    response: Closed({
      intact: Type.Boolean(),
      checked_at: Time('When the check ran.'),
      proofs: Type.Integer(),
      chains: Type.Integer(),
      findings: Type.Array(
        Closed({
          kind: StringEnum(['edited', 'deleted', 'reordered', 'unaudited']),
          target_id: Nullable(Type.String({ description: 'The slot or node.' })),
          sequence: Nullable(Type.Integer()),
          wipe_proof_id: Nullable(Type.String()),
          detail: Type.String(),
        }),
      ),
    }),
  },
});
