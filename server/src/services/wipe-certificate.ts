/**
 * Wipe certificates for tenants. Each read builds one from the wipe proofs that freed the allocation's slots and signs it
 * with a key that signs nothing else. The public keys are published, also those that no longer sign.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { findCertificateSigner } from '../agents/trust.ts';
import type { ReadCtx } from '../context.ts';
import { findProjectAllocation } from '../db/allocation.ts';
import { PLATFORM } from '../db/client.ts';
import { listClaims } from '../db/lifecycle.ts';
import { listCertificateKeys } from '../db/trust-key.ts';
import { listAllocationProofs } from '../db/wipe-proof.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { certificateBytes, certificateOf } from '../domain/wipe-certificate.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { onlyText } from '../pipeline/caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';
import { signBytes } from '../ports/trust/x509.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

export const get = async (ctx: ReadCtx, { params }: Req<'allocationWipeCertificateGet'>) => {
  const { row, proofs } = await ctx.read(async (reader) => {
    const found = await findProjectAllocation(reader, params.project_id, params.allocation_id);
    if (found === undefined) throw notFound('allocation');
    const [claims, all] = await Promise.all([listClaims(reader, [found.id]), listAllocationProofs(reader, found.id)]);
    // While anything is held, the proofs of the rest are incomplete.
    const isFreed = claims.length > 0 && claims.every((claim) => claim.wipe_proof_id !== null);
    return { row: found, proofs: isFreed ? all : [] };
  });
  if (proofs.length === 0) throw conflict(REFUSALS.no_certificate(row.state));
  const certificate = certificateOf({
    issuer: ctx.deps.config.public_url,
    allocation: {
      id: row.id,
      name: row.name,
      project_id: row.project_id,
      organization_id: row.organization_id,
      capacity_shape: row.capacity_shape,
      sku_name: row.sku_name,
      region_name: row.region_name,
      gpu_count: row.gpu_count,
      activated_at: row.activated_at,
      release_requested_at: row.release_requested_at,
      released_at: row.released_at,
    },
    disk_key: ctx.deps.secrets.derive('wipe certificate disk', 32),
    proofs,
  });
  const signer = await ctx.deps.database.read(PLATFORM, (reader) => findCertificateSigner(reader, ctx.deps.secrets));
  if (signer === undefined)
    throw new AppError('unavailable', 'The key that signs certificates is being created. Retry in a minute.', {
      retry_after_s: 60,
    });
  return {
    certificate,
    signature: {
      key_id: signer.id,
      algorithm: 'Ed25519' as const,
      value: signBytes(signer.key, certificateBytes(certificate)),
    },
  };
};

/** Public: no account is needed to verify that a certificate is ours. */
export const keyList = async (ctx: ReadCtx, { query }: Req<'wipeCertificateKeyList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const before = onlyText(decodeCursor(ctx, query.cursor)?.[0]);
  const rows = await ctx.deps.database.read(PLATFORM, (reader) =>
    listCertificateKeys(reader, { before, limit: limit + 1 }),
  );
  return pageOf(
    ctx,
    limit,
    rows,
    (row) => [row.key_id],
    (row) => row,
  );
};
