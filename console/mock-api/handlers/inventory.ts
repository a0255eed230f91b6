/** The inventory of a host as last reported by its agent, and the actions that an operator has. */

import type { TaskKind } from '@gpuaas/contract/task-kinds';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, notFound } from '../core/errors.ts';
import type { Node } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { runTask, taskView } from '../simulation/task.ts';
import { getNode } from './node.ts';

const AGE_S = 24;

const leasesOf = (world: World, node: Node) =>
  [...world.allocations.values()]
    .filter(
      (row) => row.node_id === node.id && row.slot_ids.some((id) => world.slots.get(id)?.allocation_id === row.id),
    )
    .map((row) => ({
      allocation_id: row.id,
      slot_ids: row.slot_ids,
      is_used: row.state !== 'requested',
      is_cleaning: row.state === 'releasing' || row.state === 'failed',
      wanted: row.power?.state === 'off' ? ('off' as const) : ('on' as const),
    }));

const emitDrift = (world: World, node: Node, correlation_id: string): void =>
  world.emit('node.drift_changed', {
    subject: node.id,
    organization_id: null,
    project_id: null,
    correlation_id,
    data: {
      node_id: node.id,
      name: node.name,
      findings: node.findings.length,
      codes: node.findings.map((one) => one.code),
    },
  });

const taskFor = (ctx: MockCtx, node: Node, kind: TaskKind, about: string, done: () => void) => {
  const { world, correlation_id } = ctx;
  return taskView(runTask(world, { node_id: node.id, kind, allocation_id: null, correlation_id, about }, 3, done));
};

export const inventory = {
  adminNodeInventoryGet: async (ctx: MockCtx, { params }: Req<'adminNodeInventoryGet'>) => {
    const { world } = ctx;
    const node = getNode(ctx, params.node_id);
    if (node.reconciled_at === null && !node.is_connected) throw notFound('inventory');
    const at = node.is_connected ? world.ago(AGE_S * 1000) : (node.reconciled_at ?? world.ago());
    return {
      node_id: node.id,
      observed_at: at,
      received_at: at,
      age_s: Math.round((world.now() - Date.parse(at)) / 1000),
      boot_id: node.boot_id,
      findings: node.findings,
      vms: node.vms,
      leases: leasesOf(world, node),
      repaired: node.number % 9 === 0 ? ['A switch port was restored after a restart.'] : [],
    };
  },
  adminNodeVmRemove: async (ctx: MockCtx, { params }: Req<'adminNodeVmRemove'>) => {
    const { world } = ctx;
    const node = getNode(ctx, params.node_id);
    const machine = must(
      node.vms.find((one) => one.name === params.vm_name),
      'VM on this node',
    );
    if (!machine.is_managed) throw conflict(REFUSALS.vm_unmanaged);
    const row = machine.allocation_id === null ? undefined : world.allocations.get(machine.allocation_id);
    if (row?.state === 'active') throw conflict(REFUSALS.vm_claimed);
    return taskFor(ctx, node, 'slice.orphan_remove', machine.name, () => {
      node.vms = node.vms.filter((one) => one !== machine);
      node.findings = node.findings.filter((one) => one.vm !== machine.name);
      emitDrift(world, node, ctx.correlation_id);
    });
  },
  adminNodeBundleLeaseEnd: async (ctx: MockCtx, { params }: Req<'adminNodeBundleLeaseEnd'>) => {
    const { world } = ctx;
    const node = getNode(ctx, params.node_id);
    const live = world.claims.some(
      (one) => one.allocation_id === params.allocation_id && one.node_id === node.id && one.released_at === null,
    );
    if (live) throw conflict(REFUSALS.lease_claimed);
    return taskFor(ctx, node, 'slice.orphan_remove', params.allocation_id, () => {
      node.findings = node.findings.filter((one) => one.allocation_id !== params.allocation_id);
      emitDrift(world, node, ctx.correlation_id);
    });
  },
  adminNodeImageList: async (ctx: MockCtx, { params }: Req<'adminNodeImageList'>) => {
    const node = getNode(ctx, params.node_id);
    return {
      node_id: node.id,
      observed_at: node.agent_version === null ? null : ctx.world.ago(AGE_S * 1000),
      unreadable: null,
      images: node.images,
    };
  },
  adminNodeImagePull: async (ctx: MockCtx, { params, body }: Req<'adminNodeImagePull'>) => {
    const { world } = ctx;
    const node = getNode(ctx, params.node_id);
    const image = must(
      world.images.find((one) => one.name.toLowerCase() === body.image_name.toLowerCase()),
      'image',
    );
    const wanted = body.digest ?? image.digest;
    const version = image.versions.find((one) => one.digest === wanted && one.retired_at === null);
    if (version === undefined) throw notFound('image');
    return taskFor(ctx, node, 'image.pull', version.digest, () => {
      if (!node.images.some((one) => one.digest === version.digest))
        node.images.push({
          digest: version.digest,
          name: image.name,
          size_bytes: version.size_bytes,
          verified_at: world.ago(),
          last_used_at: null,
        });
    });
  },
  adminNodeImageEvict: async (ctx: MockCtx, { params, body }: Req<'adminNodeImageEvict'>) => {
    const node = getNode(ctx, params.node_id);
    return taskFor(ctx, node, 'image.evict', body.digest, () => {
      node.images = node.images.filter((one) => one.digest !== body.digest);
    });
  },
  adminNodeImageVerify: async (ctx: MockCtx, { params, body }: Req<'adminNodeImageVerify'>) => {
    const node = getNode(ctx, params.node_id);
    return taskFor(ctx, node, 'image.verify', body.digest, () => {
      const image = node.images.find((one) => one.digest === body.digest);
      if (image !== undefined) image.verified_at = ctx.world.ago();
    });
  },
};
