/**
 * The steps of setup that this command can carry out: register a host, enroll its agent, discover its hardware. Each asks
 * for what it needs, makes the change, and waits until the site reports the step as done. A step that ends early leaves
 * nothing to repair: the next run reads the site again.
 */
import { CAPACITY_MODES, GpuaasError, type Node, type Operations, wait } from '@gpuaas/sdk';
import type { Cli } from './context.ts';
import { CliError } from './exit.ts';
import { explained } from './progress.ts';
import type { Prompts } from './prompt.ts';
import { applyFile } from './site-plan.ts';

type Setup = Operations['adminSetupGet']['response'];
export type StepKey = Setup['steps'][number]['key'];

export type StepContext = Readonly<{
  cli: Cli;
  prompts: Prompts;
  timeoutMs: number;
  requiresNamedHost: boolean;
  printEnrollment(enrollment: Operations['adminNodeEnrollmentCreate']['response']): void;
}>;

const POLL_MAX_MS = 2_000;
const REASON = 'Setup of the site';
const RESUME = 'gpuaas admin setup';

export const readSetup = async (cli: Cli): Promise<Setup> =>
  (await cli.client()).adminSetupGet({}, { signal: cli.signal });

const isDone = (setup: Setup, key: StepKey): boolean =>
  setup.steps.some((step) => step.key === key && step.state === 'done');

const untilDone = async ({ cli, timeoutMs }: StepContext, key: StepKey): Promise<void> => {
  const options = {
    until: (setup: Setup) => isDone(setup, key),
    timeoutMs,
    intervalMaxMs: POLL_MAX_MS,
    signal: cli.signal,
  };
  try {
    await wait(() => readSetup(cli), options);
  } catch (err) {
    throw explained(err, { resume: RESUME });
  }
};

const newestNode = async (cli: Cli, holds: (node: Node) => boolean): Promise<Node> => {
  const nodes = (await cli.client()).pages.adminNodeList({ query: { limit: 200 } }, { signal: cli.signal });
  let found: Node | undefined;
  for await (const node of nodes)
    if (holds(node) && (found === undefined || node.created_at > found.created_at)) found = node;
  if (found === undefined) throw new GpuaasError('not_found', 'No node waits for this step.');
  return found;
};

const SERIAL =
  'The serial number names the only host that can use the token. It is on the label of the host; on the host: dmidecode -s system-serial-number';
const NO_SERIAL = 'Without it, the first host that uses the token is bound to the node.';

/** Names the host of a node, or keeps what is known of it. */
const askHost = async (
  { cli, prompts, requiresNamedHost }: StepContext,
  known: Node['host'] | null,
): Promise<{ host?: { product_serial: string } }> => {
  if (known?.state === 'bound') return {};
  const isNamed = known?.state === 'named';
  const isRequired = requiresNamedHost && !isNamed;
  cli.out.say(isRequired || isNamed ? SERIAL : `${SERIAL}\n${NO_SERIAL}`);
  const initial = known?.product_serial ?? undefined;
  const serial = isRequired
    ? await prompts.text('Serial number of the host', initial)
    : await prompts.optionalText('Serial number of the host (optional)', initial);
  return serial === '' || serial === initial ? {} : { host: { product_serial: serial } };
};

const isPresent = ({ state }: Node): boolean => state !== 'retired' && state !== 'deleted';

const createNode = async (step: StepContext): Promise<void> => {
  const { cli, prompts } = step;
  const client = await cli.client();
  const [regions, skus] = await Promise.all([
    client.regionList({ query: { limit: 200 } }, { signal: cli.signal }),
    client.skuList({ query: { limit: 200 } }, { signal: cli.signal }),
  ]);
  const name = await prompts.text('Name of the host');
  const enabled = regions.items.flatMap((region) => (region.enabled ? [region.name] : []));
  if (enabled.length === 0)
    throw new CliError('failure', 'No region is enabled.', 'Enable one: gpuaas admin region update REGION --enable');
  const region_name = await prompts.select('Region', enabled);
  const gpu_model = await prompts.select('GPU model', [...new Set(skus.items.map((sku) => sku.gpu_model))]);
  const gpu_count = Number(await prompts.text('Number of GPUs', '8'));
  const mode = await prompts.select('Capacity mode', CAPACITY_MODES);
  const capacity_mode = CAPACITY_MODES.find((one) => one === mode) ?? 'slice';
  const body = { name, region_name, gpu_model, gpu_count, capacity_mode, ...(await askHost(step, null)) };
  const response = await client.call('adminNodeCreate', { body }, { signal: cli.signal });
  cli.out.done(`Created node ${response.data.node.name} (${response.data.node.id}).`, response);
  step.printEnrollment(response.data.enrollment);
  cli.out.say('Waiting for its agent. This may be interrupted and continued later.');
  await untilDone(step, 'node_enrolled');
};

const enrollNode = async (step: StepContext): Promise<void> => {
  const { cli, prompts } = step;
  const node = await newestNode(cli, (one) => isPresent(one) && one.last_seen_at === null);
  if (await prompts.confirm(`Print a new install command for ${node.name}? The earlier token stops working.`)) {
    const body = { reason: REASON, ...(await askHost(step, node.host)) };
    const request = { params: { node_id: node.id }, body };
    const response = await (await cli.client()).call('adminNodeEnrollmentCreate', request, { signal: cli.signal });
    step.printEnrollment(response.data);
  }
  cli.out.say(`Waiting for the agent of ${node.name}. This may be interrupted and continued later.`);
  await untilDone(step, 'node_enrolled');
};

const discoverNode = async (step: StepContext): Promise<void> => {
  const { cli } = step;
  const node = await newestNode(cli, (one) => isPresent(one) && one.is_connected);
  const request = { params: { node_id: node.id }, body: {} };
  const response = await (await cli.client()).call('adminNodeDiscoveryCreate', request, { signal: cli.signal });
  cli.out.say(`Discovery of ${node.name} runs as task ${response.data.id}.`);
  await untilDone(step, 'node_discovered');
};

const describeSite = async ({ cli, prompts }: StepContext): Promise<void> => {
  const file = await prompts.text('Site file', 'site.yaml');
  const agree = async (question: string): Promise<void> => {
    if (!(await prompts.confirm(question))) throw new CliError('failure', 'No changes were made.');
  };
  await applyFile(cli, { file, agree });
};

/** The other steps are done elsewhere: in settings, or by a decision that deserves its own command. */
export const STEP_RUNNERS: Readonly<Partial<Record<StepKey, (step: StepContext) => Promise<void>>>> = {
  catalog: describeSite,
  node_created: createNode,
  node_enrolled: enrollNode,
  node_discovered: discoverNode,
};
