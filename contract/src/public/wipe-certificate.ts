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
const Level = StringEnum(WIPE_LEVELS, { description: 'As NIST SP 800-88 has them.' });

const CertifiedDisk = Closed({
  disk: Type.String({
    pattern: '^[0-9a-f]{32}$',
    examples: ['9f2c4e1ab07d835566e1d0c4a98b7f32'],
    description:
      'Names the disk within this allocation; the platform made it with a secret of its own, from the serial number.',
  }),
  size_bytes: Nullable(Count),
  method: Type.String({ examples: ['nvme_sanitize'] }),
  level: Nullable(Level),
  erase: Nullable(StringEnum(['crypto', 'block', 'discard'])),
  command_status: Nullable(Type.Integer({ description: 'What the command of the method came to; 0 is success.' })),
  rule: Nullable(
    StringEnum(['blank', 'changed'], { description: 'Read back as blank, or as noise that was not there before.' }),
  ),
  bytes_read_back: Count,
  bytes_not_erased: Count,
  samples: Type.Array(
    Closed({
      offset: Count,
      length: Count,
      sha256: Nullable(
        Type.String({
          description: 'Of what was found. Null for noise, which the next tenant could read there as well.',
        }),
      ),
    }),
  ),
  attempt: Nullable(Count),
  started_at: Nullable(Time('When the wipe began, by the clock of the host.')),
  finished_at: Time('When the read-back ended, by the clock of the host.'),
  proven_at: Time('When the platform took it for proof.'),
  gpu_reset: Nullable(
    Closed({
      method: Type.String({ examples: ['bus'] }),
      functions: Type.Integer({ description: 'How many PCI functions the reset reached, all of them its own.' }),
      is_ok: Type.Boolean({ description: 'If not, the GPU is kept out of use until it is.' }),
    }),
  ),
  fabric_function: Nullable(
    Closed({
      method: Type.String(),
      is_cleared: Type.Boolean({
        description: 'The fabric function was reset and answered afterwards. Its MAC and GUID are not read back.',
      }),
    }),
  ),
  wipe_proof_id: Id('wipe_proof'),
  proof_hash: Hash,
});

export const WipeCertificate = Closed({
  format: Type.Literal('gpuaas wipe certificate v1'),
  issuer: Type.String({ description: 'The address of the platform.' }),
  allocation: Closed({
    id: Id('allocation'),
    name: Type.String(),
    project_id: Id('project'),
    organization_id: Id('organization'),
    capacity_shape: StringEnum(CAPACITY_SHAPES),
    sku_name: Type.String(),
    region_name: Type.String(),
    gpu_count: Type.Integer(),
    activated_at: Nullable(Time('When it became the tenant’s.')),
    release_requested_at: Nullable(Time('When its release was requested.')),
    released_at: Nullable(Time('When its capacity was proven clean.')),
  }),
  wipe_minimum: Nullable(Level),
  disks: Type.Array(CertifiedDisk),
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
    description: 'Signatures of a revoked key are invalid; the others differ only in whether they still sign.',
  }),
  public_key_pem: Type.String(),
  fingerprint_sha256: Hash,
  created_at: Time('When it was made.'),
});

export const WipeProof = Closed({
  id: Id('wipe_proof'),
  node_id: Id('node'),
  slot_id: Nullable(Type.String()),
  allocation_id: Nullable(Type.String()),
  disk_serial: Nullable(Type.String()),
  task_id: Type.String(),
  method: Type.String(),
  is_verified: Type.Boolean(),
  evidence: Type.Object({}, { additionalProperties: true }),
  correlation_id: Type.String(),
  sequence: Type.Integer(),
  previous_hash: Hash,
  proof_hash: Hash,
  created_at: Time('When the platform took it.'),
});

const read = { method: 'GET', audit: null, idempotency: 'none', status: 200 } as const;

export const wipeCertificateApi = define({
  allocationWipeCertificateGet: {
    ...read,
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/wipe-certificate',
    tag: 'Allocations',
    summary: 'The signed wipe certificate of an allocation',
    description: 'Available once the wipe is proven; until then 409 states what is pending.',
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
    summary: 'Public keys that verify wipe certificates, newest first; needs no sign-in',
    access: 'public',
    permission: null,
    query: Closed({ ...PageQuery }),
    response: Page(WipeCertificateKey),
  },
  adminNodeSlotProofList: {
    ...read,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/wipe-proofs',
    tag: 'Placement',
    summary: 'Wipe proofs of a slot, newest first, also those that proved nothing',
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
    summary: 'Recompute the chains of wipe proofs and compare them with their audit rows',
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
