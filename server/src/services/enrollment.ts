/** The single-use token by which an agent enrolls. It is shown once, and one per node is open at a time. */
import { randomBytes } from 'node:crypto';
import { mintId } from '@gpuaas/kit';
import type { WriteCtx } from '../context.ts';
import { insertEnrollment, lockCertificates, revokeEnrollments } from '../db/node-certificate.ts';
import { findShownFingerprint } from '../db/trust-key.ts';
import { FIELD_MESSAGES } from '../domain/sentences.ts';
import { AppError, invalidField } from '../errors.ts';
import { hashToken } from '../identity/token.ts';
import { callerId } from '../pipeline/caller.ts';
import { getNode } from '../views/node.ts';

const TOKEN_LIFE_S = 15 * 60;
export const createEnrollment = async (ctx: WriteCtx, nodeId: string) => {
  const { config } = ctx.deps;
  const { host } = await getNode(ctx.tx, nodeId);
  if (config.requires_named_host && host.state === 'unbound') throw invalidField('host', FIELD_MESSAGES.host_required);
  const ca_sha256 = await findShownFingerprint(ctx.tx);
  if (ca_sha256 === undefined)
    throw new AppError('unavailable', 'gpuaas-node-api has not created the CA of hosts yet. Start it and retry.', {
      retry_after_s: 5,
    });
  const token = `gpe_${randomBytes(32).toString('base64url')}`;
  const id = mintId('enr');
  // Of two simultaneous enrollments, the later one ends the earlier.
  await lockCertificates(ctx.tx, nodeId);
  await revokeEnrollments(ctx.tx, nodeId);
  const expires_at = await insertEnrollment(ctx.tx, {
    id,
    node_id: nodeId,
    token_hash: hashToken(token),
    created_by: callerId(ctx),
    correlation_id: ctx.correlation_id,
    life_s: TOKEN_LIFE_S,
  });
  ctx.note({ enrollment_id: id });
  const node_api_url = config.node_api.url;
  const install_command = `sh install.sh --node-api-url ${node_api_url} --ca-sha256 ${ca_sha256} --token-file -`;
  return { id, node_id: nodeId, host, token, expires_at, node_api_url, ca_sha256, install_command };
};
