/**
 * `slice.vm_start`: the fabric partition, the devices, the network and then the VM. A guest that boots before its
 * partition is active never joins the fabric, so the order matters. If the VM does not start, everything is undone;
 * devices stay on vfio-pci, where a slice host keeps them. Fabric functions are bound with the rest, so that the host does
 * not use them, and passed through only where the task says so. A stopped VM is started in the same way, because the host
 * may have changed meanwhile; if that fails, it keeps its definition and is off.
 */

import type { NetworkKind } from '@gpuaas/contract/node';
import { noteKeys } from '../authorized-keys.ts';
import { HostError } from '../host/host.ts';
import { getLease, type Lease, readLeases, recordPower, touchLease } from '../leases.ts';
import { NO_IDS } from '../topology/device-ids.ts';

import { refuseBootKind } from './boot-kind.ts';
import { deviceProblems, diskProblems } from './bundle-slot.ts';
import { domainName } from './names.ts';
import { joinPartition } from './partition.ts';
import type { TaskContext, TaskHandler } from './task.ts';
import { type Act, slotKeys, withinTime, withLocks } from './task-locks.ts';

/** The timeout of each rollback step: a hanging host must not keep the task from reporting its failure. */
const STEP_BACK_MS = 30_000;

export const vmStart: TaskHandler<'slice.vm_start'> = (ctx, params) =>
  withLocks(ctx, slotKeys(params.slots), async (act) => {
    const lease = getLease(await readLeases(ctx.state), params.allocation_id, params.slots);
    const name = domainName(params.allocation_id);
    const domains = await act('listing the domains', ctx.host.hypervisor.list());
    const there = domains.find((domain) => domain.name === name);
    if (there !== undefined && there.allocation_id !== params.allocation_id)
      throw new HostError('conflict', `VM ${name} exists and does not belong to allocation ${params.allocation_id}.`);
    if (there?.state === 'running') {
      await recordPower(ctx.state, params.allocation_id, 'on');
      return { domain: name };
    }
    await refuseBootKind(ctx, act, params.boot_kind);
    await refuseDrift(ctx, act, lease);
    await touchLease(ctx.state, params.allocation_id, ctx.now());
    await recordPower(ctx.state, params.allocation_id, 'on');
    const { allocation_id, ssh_public_keys: keys } = params;
    await noteKeys(ctx.state, { allocation_id, username: null, keys });
    try {
      await prepare(ctx, act, lease, params.network ?? 'private_nat');
      ctx.progress({ percent: 60, note: 'starting the VM' });
      await act(
        `the start of ${name}`,
        ctx.host.hypervisor.start({
          name,
          allocation_id: params.allocation_id,
          plan: lease.plan,
          boot_kind: params.boot_kind ?? 'uefi',
          passes_fabric: params.passes_fabric ?? false,
          seed: {
            hostname: params.hostname,
            ssh_public_keys: params.ssh_public_keys,
            user_data: params.user_data,
            install: params.install ?? 0,
            readiness_checks: params.readiness_checks ?? [],
            storage: params.storage ?? 'raw',
          },
        }),
      );
    } catch (err) {
      await stepBack(ctx, lease, { name, isNew: there === undefined });
      throw err;
    }
    return { domain: name };
  });

/** The host as it was leased: it may have changed since. */
const refuseDrift = async (ctx: TaskContext, act: Act, lease: Lease): Promise<void> => {
  const [pci, groups, disks] = await act(
    'reading the host',
    Promise.all([ctx.host.pci.list(), ctx.host.pci.iommuGroups(), ctx.host.disks.list()]),
  );
  const problems = lease.slots.flatMap((slot) => [
    ...deviceProblems({ pci, groups, ids: ctx.host.devices ?? NO_IDS }, slot),
    // By now the disk contains the image, as it should.
    ...diskProblems(
      disks.map((disk) => ({ ...disk, filesystems: [] })),
      slot,
    ),
  ]);
  const [first] = problems;
  if (first !== undefined) throw new HostError(first.code, problems.map((problem) => problem.message).join('; '));
};

/** A port behind the host's NAT, which no other allocation reaches. */
const attachPrivate = async (ctx: TaskContext, act: Act, lease: Lease): Promise<void> => {
  const { plan } = lease;
  await renewPort(ctx, act, lease);
  await act(
    `port ${plan.ovs_port}`,
    ctx.host.network.attach({
      name: plan.ovs_port,
      mac_address: plan.mac_address,
      private_ip: plan.private_ip,
      allocation_id: lease.allocation_id,
    }),
  );
};

/** How the VM is connected, for each network of a launch. */
const ATTACH: Readonly<Record<NetworkKind, typeof attachPrivate>> = { private_nat: attachPrivate };

const prepare = async (ctx: TaskContext, act: Act, lease: Lease, network: NetworkKind): Promise<void> => {
  const { plan } = lease;
  if (plan.fabric_partition_id !== null) await joinPartition(ctx, act, plan.fabric_partition_id);
  ctx.progress({ percent: 20, note: 'binding devices' });
  for (const slot of plan.slots)
    for (const address of [slot.gpu_pci_address, slot.fabric_vf_pci_address])
      await act(`binding ${address}`, ctx.host.pci.bind(address, 'vfio-pci'));
  ctx.progress({ percent: 40, note: 'attaching the network' });
  await ATTACH[network](ctx, act, lease);
};

/**
 * A port left by a former VM still has that VM's device, and its address counts as used. It is created again, so that
 * the next VM has connectivity and a later DHCP lease is its own.
 */
const renewPort = async (ctx: TaskContext, act: Act, { plan }: Lease): Promise<void> => {
  const ports = await act('listing ports', ctx.host.network.ports());
  if (!ports.some((port) => port.name === plan.ovs_port)) return;
  const port = { name: plan.ovs_port, mac_address: plan.mac_address };
  await act(`detaching ${plan.ovs_port}`, ctx.host.network.detach(port));
};

/** In reverse order. A failed rollback step is logged and does not hide why the start failed; cleanup repeats it. */
const stepBack = async (
  ctx: TaskContext,
  lease: Lease,
  { name, isNew }: Readonly<{ name: string; isNew: boolean }>,
): Promise<void> => {
  const { plan } = lease;
  const steps: ReadonlyArray<readonly [what: string, undo: () => Promise<unknown>]> = [
    [`stopping ${name}`, () => stopVm(ctx, lease, name)],
    ...(isNew ? [[`removing ${name}`, () => removeVm(ctx, lease, name)] as const] : []),
    [
      `detaching ${plan.ovs_port}`,
      () => ctx.host.network.detach({ name: plan.ovs_port, mac_address: plan.mac_address }),
    ],
    ...(plan.fabric_partition_id === null
      ? []
      : [
          [
            `deactivating fabric partition ${plan.fabric_partition_id}`,
            () => ctx.host.fabric.deactivate(plan.fabric_partition_id ?? 0),
          ] as const,
        ]),
    ['noting that it is off', () => recordPower(ctx.state, lease.allocation_id, 'off')],
  ];
  for (const [what, undo] of steps)
    await withinTime(AbortSignal.timeout(STEP_BACK_MS), what, undo()).catch((err: unknown) =>
      ctx.log.warn({ err }, `${what} failed after a failed start`),
    );
};

const isOwn = async (ctx: TaskContext, lease: Lease, name: string): Promise<boolean> =>
  (await ctx.host.hypervisor.list()).some((each) => each.name === name && each.allocation_id === lease.allocation_id);

const stopVm = async (ctx: TaskContext, lease: Lease, name: string): Promise<void> => {
  if (await isOwn(ctx, lease, name)) await ctx.host.hypervisor.stop(name, 0);
};

const removeVm = async (ctx: TaskContext, lease: Lease, name: string): Promise<void> => {
  if (await isOwn(ctx, lease, name)) await ctx.host.hypervisor.remove(name);
};
