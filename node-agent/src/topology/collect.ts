/**
 * Host facts, part by part. Each part is read separately, so that a missing tool costs one part. An unreadable part
 * states why and is never reported as absent.
 */
import type { Fact, HostFacts } from '@gpuaas/contract/node';
import type { Host } from '../host/host.ts';

const REASON_MAX = 500;

const sentence = (error: unknown): string => {
  const text = (error instanceof Error ? error.message : String(error)).trim().slice(0, REASON_MAX);
  return text === '' ? 'No reason was given.' : text;
};

const fact = async <T>(read: () => Promise<T>): Promise<Fact<T>> => {
  try {
    return { value: await read() };
  } catch (error) {
    return { unreadable: sentence(error) };
  }
};

const listed = <T>(read: () => Promise<readonly T[]>): Promise<Fact<T[]>> => fact(async () => [...(await read())]);

const hypervisorOf = async ({ hypervisor }: Host): Promise<Pick<HostFacts, 'hypervisor'>> => {
  const { facts } = hypervisor;
  return facts === undefined ? {} : { hypervisor: await fact(facts) };
};

export const collectFacts = async (host: Host, now: () => Date = () => new Date()): Promise<HostFacts> => {
  const [system, pci, iommuGroups, gpus, disks, nics, fabric, network, tools, images, hypervisor, bootKinds] =
    await Promise.all([
      fact(() => host.system.facts()),
      listed(() => host.pci.list()),
      listed(async () =>
        (await host.pci.iommuGroups()).map(({ group, addresses }) => ({ group, addresses: [...addresses] })),
      ),
      listed(() => host.gpu.list()),
      listed(() => host.disks.list()),
      listed(() => host.network.nics()),
      fact(() => host.fabric.facts()),
      fact(() => host.network.facts()),
      listed(() => host.system.tools()),
      listed(() => host.images.list()),
      hypervisorOf(host),
      listed(() => host.hypervisor.bootKinds()),
    ]);
  return {
    schema: 1,
    observed_at: now().toISOString(),
    system,
    pci,
    iommu_groups: iommuGroups,
    gpus,
    disks,
    nics,
    fabric,
    network,
    tools,
    images,
    ...hypervisor,
    boot_kinds: bootKinds,
  };
};
