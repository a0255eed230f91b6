import { messageNamingHost, NAMES_HOST } from '../../../server/src/domain/notice.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { assertVersion, type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, invalidField, refuse } from '../core/errors.ts';
import type { Node } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { refuseNode } from '../simulation/actions.ts';
import { AGENT, countedAlerts, informTenants } from '../simulation/health.ts';
import { slotsOf } from '../simulation/placement.ts';
import { runTask, taskView } from '../simulation/task.ts';
import { getNode } from './node.ts';

const CHECKS = ['pcie_links', 'ecc', 'nvme_smart', 'fabric_manager', 'kernel_log', 'temperature'];

const settle = (world: World, node: Node): void => {
  const alerts = countedAlerts(world, node);
  const isBad = alerts.some((one) => one.target === 'node' && one.classifications.includes('prevent_allocations'));
  if (node.health !== 'unknown') node.health = isBad ? 'unhealthy' : 'ok';
  for (const slot of slotsOf(world, node.id))
    slot.health = alerts.some((one) => one.target === slot.gpu_pci_address || one.target === slot.nvme_serial)
      ? 'unhealthy'
      : 'ok';
  node.version += 1;
};

const view = (world: World, node: Node) => {
  const alerts = countedAlerts(world, node);
  return {
    node_id: node.id,
    health: node.health,
    prevents: [...new Set(alerts.flatMap((one) => one.classifications))],
    alerts,
    reports:
      node.agent_version === null
        ? []
        : [
            {
              source: AGENT,
              observed_at: world.ago(30_000),
              successes: CHECKS.filter((check) => !node.alerts.some((one) => one.id.startsWith(check))),
              alerts: node.alerts,
            },
          ],
    overrides: node.overrides,
    slots: slotsOf(world, node.id).map((slot) => ({
      slot_id: slot.id,
      slot_index: slot.slot_index,
      health: slot.health,
      alerts: alerts.filter((one) => one.target === slot.gpu_pci_address || one.target === slot.nvme_serial),
    })),
  };
};

export const health = {
  adminNodeHealthGet: async (ctx: MockCtx, { params }: Req<'adminNodeHealthGet'>) =>
    view(ctx.world, getNode(ctx, params.node_id)),
  adminNodeHealthProbe: async (ctx: MockCtx, { params }: Req<'adminNodeHealthProbe'>) => {
    const { world, correlation_id } = ctx;
    const node = getNode(ctx, params.node_id);
    refuse(refuseNode(world, node, 'probe'));
    const asked = { node_id: node.id, kind: 'diag.health_probe', allocation_id: null, correlation_id } as const;
    return taskView(runTask(world, asked, 3, () => settle(world, node)));
  },
  adminNodeHealthOverridePut: async (ctx: MockCtx, { params, body }: Req<'adminNodeHealthOverridePut'>) => {
    const { world } = ctx;
    const node = getNode(ctx, params.node_id);
    const naming = messageNamingHost(body.alerts, [node.name]);
    if (naming !== null) throw invalidField('alerts', `"${naming}" ${NAMES_HOST}`);
    const row = { ...body, source: params.source, created_by: ctx.principal.id, created_at: world.ago() };
    informTenants(world, node, ctx.correlation_id, () => {
      node.overrides = [...node.overrides.filter((one) => one.source !== params.source), row];
      settle(world, node);
    });
    return view(world, node);
  },
  adminNodeHealthOverrideDelete: async (ctx: MockCtx, { params }: Req<'adminNodeHealthOverrideDelete'>) => {
    const node = getNode(ctx, params.node_id);
    must(
      node.overrides.find((one) => one.source === params.source),
      'override',
    );
    informTenants(ctx.world, node, ctx.correlation_id, () => {
      node.overrides = node.overrides.filter((one) => one.source !== params.source);
      settle(ctx.world, node);
    });
    return undefined;
  },
  adminHealthBreakerGet: async ({ world }: MockCtx) => ({ ...world.breaker }),
  adminHealthBreakerReset: async (ctx: MockCtx, { if_match }: Req<'adminHealthBreakerReset'>) => {
    const { breaker } = ctx.world;
    assertVersion(breaker, if_match);
    if (!breaker.is_tripped) throw conflict(REFUSALS.breaker_not_tripped);
    Object.assign(breaker, {
      is_tripped: false,
      reset_by: ctx.principal.id,
      reset_at: ctx.world.ago(),
      version: breaker.version + 1,
    });
    return { ...breaker };
  },
};
