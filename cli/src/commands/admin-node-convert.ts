/**
 * Converting a node takes two steps: the plan is read and shown, then exactly that plan is applied by its hash. If the
 * node changed in between, the API refuses the hash and nothing happens.
 */
import { CONVERSION_TARGETS, type Operations } from '@gpuaas/sdk';
import { choice, command, required, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../exit.ts';
import { nodeId } from '../find.ts';
import { keyFlags, yesFlags } from '../flags.ts';

type Plan = Operations['adminNodeConvertPlan']['response'];

const MODE_LABELS: Readonly<Record<Operations['adminNodeConvert']['response']['capacity_mode'], string>> = {
  baremetal: 'for bare metal',
  slice: 'for slices',
  flexible: 'for bare metal and slices',
};

const signed = (count: number): string => (count > 0 ? `+${count}` : String(count));

const showPlan = (cli: Cli, plan: Plan): void => {
  cli.out.item(plan, {
    node: plan.node_id,
    mode: `${plan.from} -> ${plan.to}`,
    possible: plan.is_possible,
    ...(plan.blockers.length === 0 ? {} : { blockers: plan.blockers.join(' ') }),
    'live claims': plan.live_claims,
    'slice GPUs': signed(plan.gpus_gained.slice),
    'bare-metal GPUs': signed(plan.gpus_gained.baremetal),
    plan: plan.plan_hash,
  });
  if (cli.out.json) return;
  for (const [index, step] of plan.steps.entries()) cli.out.print(`  ${index + 1}. ${step}`);
};

export const convert = command({
  name: 'convert',
  summary: 'Convert a node to another capacity mode, after showing the plan',
  args: { node: 'Name or ID' },
  flags: {
    to: required(choice('New capacity mode', CONVERSION_TARGETS)),
    'dry-run': toggle('Show the plan only'),
    ...yesFlags,
    ...keyFlags,
  },
  run: async (cli, { args, flags }) => {
    const [client, params] = [await cli.client(), { node_id: await nodeId(cli, args.node) }];
    const plan = await client.adminNodeConvertPlan({ params, query: { to: flags.to } }, { signal: cli.signal });
    const applies = plan.is_possible && !flags.dryRun;
    // JSON output is one document: the node with the plan that produced it.
    if (!cli.out.json || !applies || !flags.yes) showPlan(cli, plan);
    if (flags.dryRun) return;
    if (!plan.is_possible)
      throw new CliError('conflict', `The node cannot be converted now: ${plan.blockers.join(' ')}`);
    await cli.confirm(`Convert ${plan.node_id} as shown?`, flags.yes);
    const body = { to: flags.to, plan_hash: plan.plan_hash };
    const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
    const response = await client.call('adminNodeConvert', { params, body }, options);
    const { name, id, capacity_mode } = response.data;
    cli.out.done(`Node ${name} (${id}) is now ${MODE_LABELS[capacity_mode]}.`, response, { ...response.data, plan });
  },
});
