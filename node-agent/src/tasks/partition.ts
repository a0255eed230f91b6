/**
 * A slice's part of the fabric. Fabric Manager forgets at its start who is in which partition, and until it is told it takes
 * no order; what it is told counts as the whole of it, also when that is nothing. So it is told of every machine that runs,
 * at once, and never of one alone.
 */
import { type Domain, HostError } from '../host/host.ts';
import { type Lease, readLeases } from '../leases.ts';
import type { Act } from './exclusive.ts';
import { domainName } from './names.ts';
import type { TaskContext } from './task.ts';

/** The partitions of machines that are not off, whatever is wanted of them. */
export const partitionsInUse = (leases: readonly Lease[], domains: readonly Domain[]): readonly number[] =>
  leases.flatMap(({ allocation_id, plan }) =>
    plan.fabric_partition_id !== null &&
    domains.some((one) => one.name === domainName(allocation_id) && one.state !== 'shut_off')
      ? [plan.fabric_partition_id]
      : [],
  );

/** Asked again, once, after Fabric Manager was told who runs: it may have waited for that. */
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

/** False where it could not be told; then what was refused before stays refused. */
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
 * Given up by a machine that is off. Where that fails nothing is lost but the chance: a start joins it again, and no cleanup ends
 * before it is shown to be inactive.
 */
export const leavePartition = async (ctx: TaskContext, act: Act, id: number): Promise<boolean> => {
  try {
    await act(`fabric partition ${id}`, ctx.host.fabric.deactivate(id));
    return true;
  } catch (err) {
    if (!(err instanceof HostError) || ctx.signal.aborted) throw err;
    ctx.log.warn({ err, partition_id: id }, 'failed to deactivate the fabric partition of a stopped VM');
    return false;
  }
};
