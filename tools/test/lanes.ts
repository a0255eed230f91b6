/** Lanes divide the tests by component; CI and developers run one by name. */

export type LaneName = 'platform-control' | 'sim' | 'app-control' | 'worker-compute';
export type Lane = Readonly<{ name: LaneName; holds: string; owns: (file: string) => boolean }>;

const under =
  (...folders: readonly string[]) =>
  (file: string): boolean =>
    folders.some((folder) => file.startsWith(`${folder}/`));

/** The first lane that owns a file has it; other files belong to the control plane. */
export const LANES: readonly Lane[] = [
  {
    name: 'sim',
    holds: 'whole-system stories on a simulated fleet: onboarding, launch, release, faults',
    owns: under('e2e/sim'),
  },
  {
    name: 'app-control',
    holds: 'the app adapters and their stories, on the public API alone',
    owns: under('apps', 'e2e/app-control'),
  },
  {
    name: 'worker-compute',
    holds: 'the node agent: discovery, tasks, leases, wipes, on simulated and real Linux hosts',
    owns: under('node-agent', 'e2e/worker-compute', 'build/slice-image', 'build/node-image'),
  },
  {
    name: 'platform-control',
    holds: 'contract, kit, scheduler, server, SDK, CLI, tools and the stories of the control plane',
    owns: () => true,
  },
];

export const laneOf = (file: string): LaneName => LANES.find((lane) => lane.owns(file))?.name ?? 'platform-control';
