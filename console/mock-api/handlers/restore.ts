/** The restore of the database: which nodes wait until an operator has compared their hosts. */
import { isNodeOver } from '../../../server/src/domain/node-state.ts';
import { releaseRefusal } from '../../../server/src/domain/restore.ts';
import type { MockCtx, Req } from '../core/context.ts';
import { refuse } from '../core/errors.ts';
import type { World } from '../core/world.ts';
import { getNode } from './node.ts';

const view = (world: World) => ({
  restore: world.restore,
  held_nodes: [...world.nodes.values()]
    .filter(({ id }) => world.restoreHeld.has(id))
    .map((node) => ({
      node_id: node.id,
      name: node.name,
      inventory_at: node.is_connected ? world.ago() : null,
      findings: node.findings.length,
      ssh_keys: [],
    })),
});

export const restore = {
  adminRestoreGet: async ({ world }: MockCtx) => view(world),
  adminRestoreBegin: async (ctx: MockCtx, { body }: Req<'adminRestoreBegin'>) => {
    const { world } = ctx;
    const began_at = world.ago();
    world.restore = {
      id: world.mint('restore'),
      began_at,
      began_by: ctx.principal.id,
      reason: body.reason,
      older_than: body.older_than ?? began_at,
      ended: {
        api_tokens: 0,
        service_account_secrets: 0,
        web_sessions: 0,
        terminal_sessions: 0,
        invitations: 0,
        enrollments: 0,
        node_certificates: 0,
      },
      lost_changes: [],
      identity_changes: [],
    };
    for (const node of world.nodes.values()) if (!isNodeOver(node.state)) world.restoreHeld.add(node.id);
    return view(world);
  },
  adminNodeRestoreRelease: async (ctx: MockCtx, { params, body }: Req<'adminNodeRestoreRelease'>) => {
    const { world } = ctx;
    const node = getNode(ctx, params.node_id);
    const held = view(world).held_nodes.find(({ node_id }) => node_id === node.id);
    if (!refuse(releaseRefusal(held, { accepts_findings: body.accepts_findings ?? false })))
      world.restoreHeld.delete(node.id);
    return view(world);
  },
};
