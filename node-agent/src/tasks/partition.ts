/**
 * The fabric partitions of slices. Fabric Manager loses its partitions at a restart and takes no order until they are
 * declared; a declaration replaces all earlier ones, even an empty one. So all running VMs are declared at once, never
 * one alone.
 */
import { type Domain, HostError } from '../host/host.ts';
import { type Lease, readLeases } from '../leases.ts';
import { domainName } from './names.ts';
import type { TaskContext } from './task.ts';
import type { Act } from './task-locks.ts';

/** The partitions of VMs that are not off, whatever their wanted state. */
export const partitionsInUse = (leases: readonly Lease[], domains: readonly Domain[]): readonly number[] =>
  leases.flatMap(({ allocation_id, plan }) =>
    plan.fabric_partition_id !== null &&
    domains.some((one) => one.name === domainName(allocation_id) && one.state !== 'shut_off')
      ? [plan.fabric_partition_id]
      : [],
  );

/** Retried once after the running VMs were declared to Fabric Manager, which may have waited for that. */
export const joinPartition = async (ctx: TaskContext, act: Act, id: number): Promise<void> => {
  const activate = () => act(`fabric partition ${id}`, ctx.host.fabric.activate(id));
  try {
    await activate();
  } catch (err) {
    if (!(err instanceof HostError) || err.code !== 'host_error' || ctx.signal.aborted) throw err;
    if (!(await reportInUse(ctx, act, id))) throw err;
    await activate();
  }
};

/** False if the declaration failed; then the earlier refusal stands. */
const reportInUse = async (ctx: TaskContext, act: Act, id: number): Promise<boolean> => {
  try {
    const { leases } = await readLeases(ctx.state);
    const domains = await act('listing the domains', ctx.host.hypervisor.list());
    const ids = partitionsInUse(leases, domains);
    ctx.log.warn(
      { partition_id: id, in_use: ids },
      'Fabric Manager refused a partition; declaring the partitions in use',
    );
    await act('declaring the fabric partitions in use', ctx.host.fabric.declare(ids));
    return true;
  } catch (err) {
    if (!(err instanceof HostError) || ctx.signal.aborted) throw err;
    ctx.log.warn({ err }, 'failed to declare the partitions in use to Fabric Manager');
    return false;
  }
};

/**
 * Deactivated for a VM that is off. A failure is harmless: a start joins the partition again, and no cleanup completes
 * before it is shown to be inactive.
 */
export const deactivatePartition = async (ctx: TaskContext, act: Act, id: number): Promise<boolean> => {
  try {
    await act(`fabric partition ${id}`, ctx.host.fabric.deactivate(id));
    return true;
  } catch (err) {
    if (!(err instanceof HostError) || ctx.signal.aborted) throw err;
    ctx.log.warn({ err, partition_id: id }, 'failed to deactivate the fabric partition of a stopped VM');
    return false;
  }
};
