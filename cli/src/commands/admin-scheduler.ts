/**
 * The snapshot of the scheduler, and what it would decide. `snapshot` saves the facts; `explain` runs the same pure
 * function over the saved file without a server, so that a decision can be reproduced later and elsewhere.
 */
import {
  type Decision,
  explainToOperator,
  FILTERS,
  type FilterCount,
  type PlacementRequest,
  place,
  rejectedBy,
  SNAPSHOT_VERSION,
  type Snapshot,
} from '@gpuaas/scheduler';
import { CAPACITY_SHAPES } from '@gpuaas/sdk';
import { safeJson } from '../clean.ts';
import { choice, command, type Group, integer, required, text } from '../command.ts';
import { CliError, UsageError } from '../exit.ts';
import { type Io, readNamed } from '../io.ts';

const isSnapshot = (value: unknown): value is Snapshot => {
  if (typeof value !== 'object' || value === null) return false;
  const { snapshot_version, nodes, regions, skus } = value as Record<string, unknown>;
  return snapshot_version === SNAPSHOT_VERSION && [nodes, regions, skus].every(Array.isArray);
};

const parse = (content: string): unknown => {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
};

const snapshotFrom = async (io: Io, file: string): Promise<Snapshot> => {
  const content = await readNamed(io, file);
  if (content === null) throw new UsageError(`${file} cannot be read.`);
  const snapshot = parse(content);
  if (!isSnapshot(snapshot))
    throw new UsageError(
      `${file} is not a scheduler snapshot of version ${SNAPSHOT_VERSION}.`,
      'Create one with: gpuaas admin scheduler snapshot > s.json',
    );
  return snapshot;
};

type ExplainRequest = Readonly<{
  sku: string;
  region: string;
  gpus: number;
  shape: 'baremetal' | 'gpu_slice' | undefined;
  tenant: string | undefined;
  quotaLeft: number | undefined;
}>;

/** SKU properties that are missing in the file must come from the command line. */
const requestFrom = (snapshot: Snapshot, asked: ExplainRequest): PlacementRequest => {
  const sku = snapshot.skus.find(({ name }) => name === asked.sku);
  const shape = asked.shape ?? sku?.shape;
  if (shape === undefined)
    throw new UsageError(
      `The snapshot has no SKU ${asked.sku}.`,
      `It has ${snapshot.skus.map(({ name }) => name).join(', ') || 'none'}. Use one of these, or add --shape.`,
    );
  return {
    shape,
    sku: asked.sku,
    region: asked.region,
    gpu_count: asked.gpus,
    allowed_gpu_counts: sku?.allowed_gpu_counts ?? [asked.gpus],
    gpus_per_node: sku?.gpus_per_node ?? asked.gpus,
    tenant_id: asked.tenant ?? '',
    quota_gpus_remaining: asked.quotaLeft ?? null,
  };
};

/** Nodes left after each filter. A refusal has them, and they are shown for a placement too. */
const survivorsOf = (decision: Decision, request: PlacementRequest, snapshot: Snapshot): readonly FilterCount[] => {
  if (decision.kind === 'unplaceable') return decision.filters;
  const refusals = snapshot.nodes.map((node) => rejectedBy({ node, summary: null }, request));
  return FILTERS.map(({ name }, index) => ({
    name,
    survivors: refusals.filter((refusal) => refusal === null || refusal.index > index).length,
  }));
};

/** The filter that rejected each node, the most frequent reasons first. */
const refusalsOf = (decision: Decision): readonly { filter: string; detail: string; nodes: number }[] => {
  if (decision.kind === 'placed') return [];
  const groups = new Map<string, { filter: string; detail: string; nodes: number }>();
  for (const { filter, detail } of decision.rejections) {
    const group = groups.get(`${filter}\n${detail}`) ?? { filter, detail, nodes: 0 };
    group.nodes += 1;
    groups.set(`${filter}\n${detail}`, group);
  }
  return [...groups.values()].sort((a, b) => b.nodes - a.nodes);
};

const snapshot = command({
  name: 'snapshot',
  summary: 'Print the scheduler input as JSON, for explain',
  flags: { region: text('Only this region', 'name'), limit: integer('Maximum number of nodes (default 1000)') },
  examples: ['gpuaas admin scheduler snapshot > s.json'],
  run: async (cli, { flags }) => {
    const query = { region_name: flags.region, limit: flags.limit };
    const seen = await (await cli.client()).adminSchedulerSnapshot({ query }, { signal: cli.signal });
    // The file is for programs: always JSON, exactly as received.
    cli.io.stdout.write(`${safeJson(seen)}\n`);
  },
});

const explain = command({
  name: 'explain',
  summary: 'Replay a placement decision on a snapshot, offline; exit code 6 if nothing fits',
  args: { file: 'Snapshot file, or - for standard input' },
  flags: {
    sku: required(text('SKU to place', 'name')),
    region: required(text('Region', 'name')),
    gpus: required(integer('Number of GPUs')),
    shape: choice('Capacity shape (default: that of the SKU)', CAPACITY_SHAPES),
    tenant: text('Organization, for pools reserved to one', 'id'),
    'quota-left': integer('GPUs left in the quota (default: no quota)'),
  },
  examples: ['gpuaas admin scheduler explain s.json --sku h200-sxm-slice --region us-buffalo-1 --gpus 4'],
  run: async (cli, { args, flags }) => {
    const seen = await snapshotFrom(cli.io, args.file);
    const request = requestFrom(seen, flags);
    const decision = place(request, seen);
    const filters = survivorsOf(decision, request, seen);
    if (cli.out.json) cli.out.item({ request, decision, filters, nodes_total: seen.nodes.length });
    else {
      cli.out.print(explainToOperator(decision, request));
      if (decision.kind === 'placed') {
        const width = Math.max(...filters.map(({ name }) => name.length));
        cli.out.print(`Nodes left after each filter, of ${seen.nodes.length}:`);
        for (const { name, survivors } of filters) cli.out.print(`  ${name.padEnd(width)}  ${survivors}`);
      }
      for (const { filter, detail, nodes } of refusalsOf(decision).slice(0, 20))
        cli.out.print(`refused: ${nodes} by ${filter}: ${detail}`);
    }
    if (decision.kind === 'unplaceable') throw new CliError('capacity', decision.reasons[0]?.detail ?? 'Nothing fits.');
  },
});

export const adminScheduler: Group = {
  name: 'scheduler',
  summary: 'Explain placement decisions',
  commands: [snapshot, explain],
};
