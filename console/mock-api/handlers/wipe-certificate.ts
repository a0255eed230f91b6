/** Wipe certificates, signed with a key that this page creates: they verify like those of the server. */

import type { PublicApi, ResponseOf } from '@gpuaas/contract';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, notFound, Refusal } from '../core/errors.ts';
import { asIs, idOf, newestFirst, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { Allocation, TrustKey, WipeProof } from '../core/rows.ts';
import type { World } from '../core/world.ts';

type Signed = ResponseOf<PublicApi['allocationWipeCertificateGet']>;
const FORMAT = 'gpuaas wipe certificate v1';
const SIZE = 3_840_755_982_336;

/** RFC 8785: names sorted, no space. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
};

/** Named by its use, because browsers and Node.js name the type differently. */
type Key = Parameters<typeof crypto.subtle.sign>[1];
type KeyPair = Readonly<{ privateKey: Key; publicKey: Key }>;
const pairs = new WeakMap<World, Promise<KeyPair>>();

/** Created on first use and never stored. */
const keyPairOf = (world: World): Promise<KeyPair> => {
  const known = pairs.get(world);
  if (known !== undefined) return known;
  const made = crypto.subtle.generateKey({ name: 'Ed25519' }, true, ['sign', 'verify']) as unknown as Promise<KeyPair>;
  pairs.set(world, made);
  return made;
};

const base64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)));

const signerOf = (world: World): TrustKey =>
  must(
    world.trustKeys.find((one) => one.purpose === 'certificate_signer' && one.state === 'active'),
    'key',
  );

type Disk = Signed['certificate']['disks'][number];

const diskOf =
  (row: Allocation) =>
  (proof: WipeProof): Disk => {
    const evidence: Readonly<{ samples?: Disk['samples']; started_at?: string; finished_at?: string }> = proof.evidence;
    return {
      disk: digestOf(`${row.id} ${proof.disk_serial}`, 32),
      outcome: 'verified' as const,
      outcome_before: 'verified' as const,
      size_bytes: SIZE,
      method: proof.method,
      level: 'purge' as const,
      erase: 'block' as const,
      command_status: 0,
      rule: 'blank' as const,
      bytes_read_back: 64 * 1024 * 1024,
      bytes_not_erased: 0,
      samples: evidence.samples ?? [],
      attempt: 1,
      started_at: evidence.started_at ?? proof.created_at,
      finished_at: evidence.finished_at ?? proof.created_at,
      proven_at: proof.created_at,
      gpu_reset: { method: 'flr', functions: 1, is_ok: true },
      fabric_function: { method: 'flr', is_cleared: true },
      wipe_proof_id: proof.id,
      proof_hash: proof.proof_hash,
    };
  };

const isExcludedOn =
  (nodeId: string | null) =>
  ({ node_id, state }: World['disks'][number]): boolean =>
    node_id === nodeId && state === 'excluded';

const certificateOf = (world: World, row: Allocation): Signed['certificate'] => {
  const proofs = world.proofs.filter((one) => one.allocation_id === row.id && one.outcome !== 'failed');
  if (proofs.length === 0) throw conflict(REFUSALS.no_certificate(row.state));
  const { id, name, project_id, organization_id, capacity_shape, sku_name, region_name, gpu_count } = row;
  const { activated_at, release_requested_at, released_at } = row;
  return {
    format: FORMAT,
    issuer: 'https://demo.gpuaas.example',
    allocation: {
      ...{ id, name, project_id, organization_id, capacity_shape, sku_name, region_name, gpu_count },
      ...{ activated_at, release_requested_at, released_at },
    },
    wipe_minimum: world.regions.find((one) => one.name === region_name)?.wipe_minimum ?? null,
    disks: proofs.map(diskOf(row)),
    unwiped_disks: capacity_shape === 'baremetal' ? world.disks.filter(isExcludedOn(row.node_id)).length : null,
    isolation: {
      is_port_removed: true,
      is_reservation_removed: true,
      is_lease_removed: true,
      is_translation_removed: true,
      is_vm_removed: true,
      is_seed_removed: true,
      partitions_deactivated: 1,
    },
  };
};

export const wipeCertificate = {
  allocationWipeCertificateGet: async (ctx: MockCtx, { params }: Req<'allocationWipeCertificateGet'>) => {
    const { world } = ctx;
    const row = world.allocations.get(params.allocation_id);
    if (row === undefined || row.project_id !== params.project_id) throw notFound('allocation');
    const certificate = certificateOf(world, row);
    const { privateKey } = await keyPairOf(world);
    const signed = new TextEncoder().encode(`${FORMAT}\n${canonical(certificate)}`);
    return {
      certificate,
      signature: {
        key_id: signerOf(world).id,
        algorithm: 'Ed25519' as const,
        value: base64(await crypto.subtle.sign({ name: 'Ed25519' }, privateKey, signed)),
      },
    };
  },
  wipeCertificateKeyList: async (ctx: MockCtx, { query }: Req<'wipeCertificateKeyList'>) => {
    const { world } = ctx;
    const { publicKey } = await keyPairOf(world);
    const spki = await crypto.subtle.exportKey('spki', publicKey);
    if (!(spki instanceof ArrayBuffer)) throw new Refusal('unavailable', 'The key cannot be read.');
    const keys = world.trustKeys.flatMap(({ state, ...key }) =>
      key.purpose === 'certificate_signer' && state !== 'staged' && state !== 'requested' ? [{ ...key, state }] : [],
    );
    return pageOf(ctx, query, newestFirst(keys), idOf, (key) => ({
      key_id: key.id,
      state: key.state,
      public_key_pem: `-----BEGIN PUBLIC KEY-----\n${base64(spki)}\n-----END PUBLIC KEY-----\n`,
      fingerprint_sha256: key.fingerprint_sha256 ?? digestOf(key.id),
      created_at: key.created_at,
    }));
  },
  adminNodeSlotProofList: async (ctx: MockCtx, { params, query }: Req<'adminNodeSlotProofList'>) => {
    const slot = ctx.world.slots.get(params.slot_id);
    must(slot?.node_id === params.node_id ? slot : undefined, 'slot');
    return pageOf(
      ctx,
      query,
      newestFirst(ctx.world.proofs.filter((one) => one.slot_id === params.slot_id)),
      idOf,
      asIs,
    );
  },
  adminWipeProofVerify: async ({ world }: MockCtx) => ({
    intact: true,
    checked_at: world.ago(),
    proofs: world.proofs.length,
    chains: new Set(world.proofs.map((one) => one.slot_id ?? one.node_id)).size,
    findings: [],
  }),
};
