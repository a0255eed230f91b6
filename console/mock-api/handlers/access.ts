/**
 * Grants: keys that open an allocation in addition to those of its launch. Also the access policy of an organization.
 */

import { grantRefusal } from '../../../server/src/domain/allocation-actions.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { assertVersion, type MockCtx, must, organizationOf, type Req } from '../core/context.ts';
import { notFound, Refusal, refuse } from '../core/errors.ts';
import { asIs, idOf, newestFirst, pageOf } from '../core/page.ts';
import type { Allocation, Grant } from '../core/rows.ts';
import { getAllocation } from './allocation.ts';

const TOLD_MS = 1_500;

const tell = (ctx: MockCtx, row: Allocation, grant: Grant): void => {
  const { id, allocation_id, user_id, state, correlation_id } = grant;
  ctx.world.emit('allocation.access_grant.changed', {
    subject: id,
    organization_id: row.organization_id,
    project_id: row.project_id,
    correlation_id,
    data: { access_grant_id: id, allocation_id, user_id, state },
  });
};

export const access = {
  accessGrantList: async (ctx: MockCtx, { params, query }: Req<'accessGrantList'>) => {
    const row = getAllocation(ctx, params.allocation_id);
    const rows = ctx.world.grants.filter((one) => one.allocation_id === row.id);
    return pageOf(ctx, query, newestFirst(rows), idOf, asIs);
  },
  accessGrantCreate: async (ctx: MockCtx, { params, body }: Req<'accessGrantCreate'>) => {
    const { world, principal } = ctx;
    const row = getAllocation(ctx, params.allocation_id);
    const key = must(world.sshKeys.get(body.ssh_key_id), 'SSH key');
    if (key.user_id !== principal.id && !ctx.holds('project.member.update', row.organization_id, row.project_id))
      throw notFound('SSH key');
    refuse(grantRefusal(row.state));
    const live = world.grants.find(
      (one) => one.allocation_id === row.id && one.ssh_key_id === key.id && !one.state.startsWith('revok'),
    );
    if (row.ssh_key_ids.includes(key.id)) throw new Refusal('already_exists', REFUSALS.key_installed_at_launch);
    if (live !== undefined) throw new Refusal('already_exists', REFUSALS.key_already_granted);
    const grant: Grant = {
      id: world.mint('access_grant'),
      allocation_id: row.id,
      user_id: key.user_id,
      user_name: world.users.get(key.user_id)?.name ?? '',
      ssh_key_id: key.id,
      fingerprint: key.fingerprint,
      state: 'pending',
      state_reason: null,
      granted_by: principal.id,
      correlation_id: ctx.correlation_id,
      created_at: world.ago(),
      installed_at: null,
      revoked_at: null,
    };
    world.grants.push(grant);
    tell(ctx, row, grant);
    world.agenda.after(TOLD_MS, () => {
      if (grant.state !== 'pending') return;
      grant.state = 'installed';
      grant.installed_at = world.ago();
      tell(ctx, row, grant);
    });
    return { ...grant };
  },
  accessGrantRevoke: async (ctx: MockCtx, { params }: Req<'accessGrantRevoke'>) => {
    const { world, principal } = ctx;
    const row = getAllocation(ctx, params.allocation_id);
    const grant = must(
      world.grants.find((one) => one.id === params.access_grant_id && one.allocation_id === row.id),
      'access grant',
    );
    const isOwn = grant.user_id === principal.id || grant.granted_by === principal.id;
    if (!isOwn && !ctx.holds('project.member.update', row.organization_id, row.project_id))
      throw new Refusal('permission_denied', REFUSALS.grant_of_others);
    if (grant.state !== 'revoked') {
      grant.state = 'revoking';
      grant.revoked_at ??= world.ago();
      tell(ctx, row, grant);
      world.agenda.after(TOLD_MS, () => {
        grant.state = 'revoked';
        tell(ctx, row, grant);
      });
    }
    return { ...grant };
  },
  accessPolicyGet: async (ctx: MockCtx) => must(ctx.world.policies.get(organizationOf(ctx)), 'organization'),
  accessPolicyUpdate: async (ctx: MockCtx, { body, if_match }: Req<'accessPolicyUpdate'>) => {
    const row = must(ctx.world.policies.get(organizationOf(ctx)), 'organization');
    assertVersion(row, if_match);
    Object.assign(row, body);
    row.version += 1;
    row.updated_at = ctx.world.ago();
    const { organization_id } = row;
    ctx.emit('access_policy.updated', { subject: organization_id, data: { organization_id } });
    return row;
  },
};
