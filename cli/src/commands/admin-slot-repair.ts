/** `slot repair`, and waiting for it: the run does the repair, and the slot shows its result. */
import { ENDED_WORKFLOW_STATES, type Operations, type Slot } from '@gpuaas/sdk';
import { command, required, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../exit.ts';
import { nodeId, slotOf } from '../find.ts';
import { ifMatchFlags, keyFlags, waitFlags, yesFlags } from '../flags.ts';
import { waitWithProgress } from '../progress.ts';
import { runText } from '../state-text.ts';

type Run = Operations['adminWorkflowRunGet']['response'];

const WAIT_MS = 600_000;
const ENDED: ReadonlySet<Run['state']> = new Set(ENDED_WORKFLOW_STATES);

export const stateOf = ({ slot_index, id, approval, status }: Slot): string =>
  `Slot ${slot_index} (${id}) is ${approval.replaceAll('_', ' ')}; status ${status.replaceAll('_', ' ')}.`;

/** The newest repair of the slot: the one just requested, or one already in progress. */
const readRun = async (cli: Cli, slotId: string): Promise<Run> => {
  const query = { subject_id: slotId, workflow: 'repair-slot', limit: 1 };
  const { items } = await (await cli.client()).adminWorkflowRunList({ query }, { signal: cli.signal });
  const [run] = items;
  if (run === undefined) throw new CliError('failure', 'The repair has no run.');
  return run;
};

const waitForRepair = async (cli: Cli, slotId: string, resume: string, timeout: number | undefined): Promise<void> => {
  const run = await waitWithProgress(cli.io, () => readRun(cli, slotId), {
    until: ({ state }) => ENDED.has(state),
    timeoutMs: timeout ?? WAIT_MS,
    signal: cli.signal,
    describe: ({ step_label, state, state_reason }) => `${step_label}: ${state_reason ?? state}`,
    resume,
  });
  if (run.state === 'done') return;
  const why = run.state_reason === null ? '.' : `: ${run.state_reason}`;
  const help = `Steps: gpuaas admin workflow-run steps ${run.id}`;
  throw new CliError('failure', `The repair ${runText(run.state)}${why}`, help);
};

export const repair = command({
  name: 'repair',
  summary: 'Rebind, rediscover, wipe and reapprove; schedulable only with a wipe proof',
  args: { node: 'Name or ID', slot: 'Index or ID' },
  flags: {
    reason: required(text('Reason, recorded in the audit log')),
    ...waitFlags,
    ...ifMatchFlags,
    ...yesFlags,
    ...keyFlags,
  },
  run: async (cli, { args, flags }) => {
    const node_id = await nodeId(cli, args.node);
    const slot = await slotOf(cli, node_id, args.slot);
    await cli.confirm('Repair this slot? Its disk is wiped.', flags.yes);
    const options = {
      idempotencyKey: flags.idempotencyKey,
      ifMatch: flags.ifMatch ?? slot.version,
      signal: cli.signal,
    };
    const params = { node_id, slot_id: slot.id };
    const request = { params, body: { reason: flags.reason } };
    const response = await (await cli.client()).call('adminNodeSlotRepair', request, options);
    const sentence = `Slot ${slot.slot_index} (${slot.id}) is being repaired`;
    const resume = `gpuaas admin slot show ${args.node} ${slot.slot_index}`;
    if (!flags.wait) return cli.out.done(`${sentence}; see ${resume}.`, response);
    cli.out.say(`${sentence}. correlation id ${response.correlation_id ?? 'unknown'}`);
    await waitForRepair(cli, slot.id, resume, flags.timeout);
    const data = await (await cli.client()).adminNodeSlotGet({ params }, { signal: cli.signal });
    if (cli.out.json) cli.out.done('', { ...response, data });
    else cli.out.print(stateOf(data));
  },
});
