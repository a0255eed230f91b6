/**
 * `slice.vm_readiness`: a VM is ready when its MAC got the reserved address, the guest reported its SSH host key, it
 * sees all claimed GPUs, and every check declared by its image passes. An unreachable VM is never ready; the operator
 * reads what was missing at the end.
 */
import type { TaskOutput } from '@gpuaas/contract/node';
import { pause } from '@gpuaas/kit';
import { type GuestReport, HostError } from '../host/host.ts';
import { getLease, type Lease, readLeases } from '../leases.ts';
import { DATA_DISKS_CHECK, platformChecks } from '../vm/data-disks.ts';
import { readAddress } from './address.ts';
import { domainName } from './names.ts';
import type { TaskContext, TaskHandler } from './task.ts';
import { withinTime } from './task-locks.ts';

type Ready = TaskOutput<'slice.vm_readiness'>;
/** `missing` may name addresses or repeat guest reports, and is for operators; only `note` is for the tenant. */
type Check = Readonly<{ ready: Ready } | { missing: string; note?: string }>;

const POLL_MS = 500;
const NO_RESPONSE = 'the host responds slowly';
const NO_ADDRESS = 'the VM has not requested its address';
const WRONG_ADDRESS = 'the VM has another address than reserved';
const NO_HOST_KEY = 'the guest has not reported its SSH host key';
const NO_GPU_COUNT = 'the guest has not reported its GPU count';
const UNMET_CHECKS = 'the readiness checks of the image have not passed';
const NO_DATA_DISKS = 'the data disks are not formatted and mounted';

/** A slow host is polled less often: polling must not take the resources that the guest OS needs to boot. */
const delayAfter = (lookedMs: number): number => Math.max(POLL_MS, lookedMs);

export const vmReadiness: TaskHandler<'slice.vm_readiness'> = async (ctx, params) => {
  const lease = getLease(await readLeases(ctx.state), params.allocation_id, params.slots);
  let missing = 'no state was read';
  while (!ctx.signal.aborted) {
    const beganAt = performance.now();
    const check = await withinTime(
      ctx.signal,
      'checking the VM',
      checkOnce(ctx, lease, [...platformChecks(params.storage), ...(params.readiness_checks ?? [])]),
    ).catch((err: unknown): Check => {
      // A busy host may take long to respond once; nothing was changed, so it is read again until the deadline.
      if (err instanceof HostError && err.code === 'timeout')
        return { missing: ctx.signal.aborted ? missing : err.message, note: NO_RESPONSE };
      throw err;
    });
    if ('ready' in check) return check.ready;
    missing = check.missing;
    ctx.progress({ percent: 50, note: check.note ?? null });
    await pause(delayAfter(performance.now() - beganAt), ctx.signal);
  }
  throw new HostError('timeout', `the VM did not become ready in time: ${missing}`);
};

const checkOnce = async (ctx: TaskContext, lease: Lease, checks: readonly string[]): Promise<Check> => {
  const { mac_address: mac, private_ip: expected } = lease.plan;
  const name = domainName(lease.allocation_id);
  const domain = (await ctx.host.hypervisor.list()).find((each) => each.name === name);
  if (domain?.state !== 'running')
    throw new HostError('host_error', `VM ${name} is ${domain?.state ?? 'missing'}; it must be running.`);
  const address = await readAddress(ctx.host.network, lease.plan);
  if (address.state === 'none') return { missing: `MAC ${mac} has no address lease`, note: NO_ADDRESS };
  if (address.ip !== expected)
    return {
      missing: `MAC ${mac} was given ${address.ip ?? 'no address'} instead of ${expected}`,
      note: WRONG_ADDRESS,
    };
  const guest = await ctx.host.hypervisor.guest(name);
  if (guest === null) return { missing: NO_HOST_KEY, note: NO_HOST_KEY };
  const wanted = lease.slots.length;
  const unmet = checks.flatMap((name) => unmetBy(guest, name));
  const hasDisks = checks[0] !== DATA_DISKS_CHECK || unmetBy(guest, DATA_DISKS_CHECK).length === 0;
  if (guest.gpu_count === null) return { missing: [NO_GPU_COUNT, ...unmet].join('; '), note: NO_GPU_COUNT };
  if (guest.gpu_count !== wanted)
    throw new HostError('drift', `the guest sees ${guest.gpu_count} GPUs instead of ${wanted}`);
  if (unmet.length > 0) return { missing: unmet.join('; '), note: hasDisks ? UNMET_CHECKS : NO_DATA_DISKS };
  return {
    ready: {
      mac,
      expected_ip: expected,
      actual_ip: address.ip,
      lease_state: 'bound',
      ssh_host_key: guest.ssh_host_key,
      gpu_count: guest.gpu_count,
    },
  };
};

const unmetBy = (guest: GuestReport, name: string): readonly string[] => {
  const found = guest.checks.find((check) => check.name === name);
  if (found === undefined) return [`the guest has not reported readiness check ${name}`];
  return found.is_ok ? [] : [`readiness check ${name} fails in the guest${found.why === null ? '' : `: ${found.why}`}`];
};
