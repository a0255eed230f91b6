/**
 * The topology of a host: starting a discovery, reading its candidates, and their difference from the approved slots.
 */
import { OPEN_TASK_STATES, type Operations } from '@gpuaas/sdk';
import { command, duration, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../exit.ts';
import { nodeId } from '../find.ts';
import { keyFlags } from '../flags.ts';
import { waitWithProgress } from '../progress.ts';
import { taskText } from '../state-text.ts';
import type { Column } from '../table.ts';
import { shortTime } from '../table.ts';
import { factLines } from './admin-node-facts.ts';

export type Discovery = Operations['adminNodeDiscoveryGet']['response'];
export type TopologyMap = NonNullable<Discovery['map']>;
export type CandidateView = TopologyMap['candidates'][number];

const node = { node: 'Name or ID' } as const;
const WAIT_MS = 180_000;
const OPEN: ReadonlySet<Discovery['task']['state']> = new Set(OPEN_TASK_STATES);

export const candidateColumns: readonly Column<CandidateView>[] = [
  { header: '#', value: ({ slot_index }) => slot_index, align: 'right' },
  { header: 'GPU', value: ({ content }) => content.gpu_pci_address },
  { header: 'NVME', value: ({ content }) => content.nvme_serial, shrink: 'cut' },
  { header: 'VF', value: ({ content }) => content.fabric_vf_pci_address },
  { header: 'NUMA', value: ({ content }) => content.numa_node, align: 'right' },
  { header: 'APPROVAL', value: ({ approval_status }) => approval_status },
  { header: 'BLOCKERS', value: ({ blockers }) => blockers.length, align: 'right' },
  { header: 'MODULE', value: ({ content }) => content.module_id, align: 'right', optional: true },
  { header: 'IP', value: ({ content }) => content.private_ip, optional: true },
  { header: 'MAC', value: ({ content }) => content.mac_address, optional: true },
];

const indexes = (found: readonly CandidateView[]): string =>
  `${found.length === 1 ? 'slot' : 'slots'} ${found.map(({ slot_index }) => slot_index).join(', ')}`;

/** Each blocker once, with all slots that it blocks. The slot index in its text is left out. */
export const blockerLines = (candidates: readonly CandidateView[]): string[] => {
  const slots = new Map<string, CandidateView[]>();
  for (const candidate of candidates)
    for (const { message } of candidate.blockers) {
      const words = message.replace(new RegExp(`^Slot ${candidate.slot_index}: `), '');
      slots.set(words, [...(slots.get(words) ?? []), candidate]);
    }
  return [...slots].map(([words, found]) => `${indexes(found)}: ${words}`);
};

export const showMap = (cli: Cli, map: TopologyMap): void => {
  const { out } = cli;
  out.print(`Discovered ${shortTime(map.created_at)}.\nmap ${map.map_hash}`);
  if (map.candidates.length === 0) out.print('No candidate slots: the agent found no readable GPU.');
  else out.table(map.candidates, candidateColumns);
  const blockers = blockerLines(map.candidates);
  if (blockers.length > 0) out.points('Blockers of approval:', blockers);
  const unmet = map.prerequisites.filter(({ is_met }) => !is_met);
  if (unmet.length === 0) out.print('All host prerequisites are met.');
  else
    out.points(
      `Prerequisites that are not met (${unmet.length} of ${map.prerequisites.length}):`,
      unmet.map(({ name, message, needs_reboot }) => `${name}: ${message}${needs_reboot ? ' Needs a reboot.' : ''}`),
    );
  if (map.reboot_required) out.print('The host must be rebooted before its slots can be used.');
  const changed = map.candidates.filter(({ approval_status }) => approval_status === 'changed');
  if (changed.length > 0)
    out.say(`Hardware changed since approval: ${indexes(changed)}. Add --diff to see each field.`);
};

type Difference = Readonly<{ field: string; approved: string; found: string }>;
const textOf = (value: unknown): string =>
  value === null || value === undefined ? '-' : typeof value === 'object' ? JSON.stringify(value) : String(value);

/** Field by field. A value that is a list or a record is written as JSON. */
export const differencesOf = (diff: Readonly<Record<string, unknown>>): Difference[] =>
  Object.entries(diff).map(([field, sides]) => {
    const { approved, found } = sides as { approved?: unknown; found?: unknown };
    return { field, approved: textOf(approved), found: textOf(found) };
  });

const showDiff = (cli: Cli, map: TopologyMap): void => {
  const rows = map.candidates.flatMap(({ slot_index: slot, diff }) =>
    differencesOf(diff).map((difference) => ({ slot, ...difference })),
  );
  if (rows.length === 0) cli.out.print('No hardware changes since approval.');
  else
    cli.out.table(rows, [
      { header: '#', value: ({ slot }) => slot, align: 'right' },
      { header: 'FIELD', value: ({ field }) => field },
      { header: 'APPROVED', value: ({ approved }) => approved, shrink: 'wrap' },
      { header: 'FOUND', value: ({ found }) => found, shrink: 'wrap' },
    ]);
};

export const readDiscovery = async (cli: Cli, node_id: string): Promise<Discovery> =>
  (await cli.client()).adminNodeDiscoveryGet({ params: { node_id } }, { signal: cli.signal });

const show = (cli: Cli, discovery: Discovery, diff: boolean | undefined): void => {
  const { task, map } = discovery;
  if (cli.out.json) cli.out.item(discovery);
  else if (map === null) cli.out.print(`The discovery ${taskText(task.state)}; no result yet.`);
  else {
    if (OPEN.has(task.state)) cli.out.say(`A newer discovery ${taskText(task.state)}; this is the previous result.`);
    if (diff) showDiff(cli, map);
    else showMap(cli, map);
  }
};

const waitForDiscovery = async (
  cli: Cli,
  named: string,
  node_id: string,
  timeout: number | undefined,
): Promise<Discovery> => {
  const found = await waitWithProgress(cli.io, () => readDiscovery(cli, node_id), {
    until: ({ task }) => !OPEN.has(task.state),
    timeoutMs: timeout ?? WAIT_MS,
    signal: cli.signal,
    describe: ({ task }) => `The discovery of ${named} ${taskText(task.state)}`,
    resume: `gpuaas admin node candidates ${named}`,
  });
  const { state, state_reason } = found.task;
  if (state !== 'completed')
    throw new CliError(
      'failure',
      `The discovery ${taskText(state)}${state_reason === null ? '.' : `: ${state_reason}`}`,
    );
  return found;
};

export const nodeTopologyCommands = [
  command({
    name: 'discover',
    summary: 'Run discovery on a host',
    args: node,
    flags: {
      wait: toggle('Wait for the result and show it'),
      timeout: duration('Maximum time to wait, like 90s (default 3m)'),
      ...keyFlags,
    },
    run: async (cli, { args, flags }) => {
      const params = { node_id: await nodeId(cli, args.node) };
      const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
      const response = await (await cli.client()).call('adminNodeDiscoveryCreate', { params, body: {} }, options);
      const sentence = `Discovery ${response.data.id} ${taskText(response.data.state)}`;
      if (!flags.wait) return cli.out.done(`${sentence}; see gpuaas admin node candidates ${args.node}.`, response);
      cli.out.say(`${sentence}. correlation id ${response.correlation_id ?? 'unknown'}`);
      show(cli, await waitForDiscovery(cli, args.node, params.node_id, flags.timeout), false);
    },
  }),
  command({
    name: 'candidates',
    summary: 'Show candidate slots, blockers and hardware changes',
    args: node,
    flags: { diff: toggle('Show each field as approved and as discovered') },
    run: async (cli, { args, flags }) => show(cli, await readDiscovery(cli, await nodeId(cli, args.node)), flags.diff),
  }),
  command({
    name: 'facts',
    summary: 'Show hardware facts of the newest discovery; --json shows all',
    args: node,
    run: async (cli, { args }) => {
      const params = { node_id: await nodeId(cli, args.node) };
      const facts = await (await cli.client()).adminNodeDiscoveryFactsGet({ params }, { signal: cli.signal });
      cli.out.item(facts, factLines(facts));
    },
  }),
] as const;
