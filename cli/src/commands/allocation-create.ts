/**
 * Launching. A refusal is followed by commands that would succeed now; --dry-run shows the same result and the price
 * without launching; after Ctrl-C the CLI still prints the ID of the started allocation.
 */
import {
  ERRORS,
  GpuaasError,
  type GpuaasErrorCode,
  NETWORK_CHOICES,
  newIdempotencyKey,
  type Operations,
  STORAGE_KINDS,
} from '@gpuaas/sdk';
import { commandLine } from '../clean.ts';
import {
  choice,
  command,
  duration,
  type FlagsOf,
  formatDuration,
  integer,
  list,
  required,
  text,
  toggle,
} from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError, Interrupted, RefusedError, UsageError } from '../exit.ts';
import { sshKeyId } from '../find.ts';
import { keyFlags, waitFlags } from '../flags.ts';
import { userDataFrom } from '../user-data.ts';
import { gpus } from './allocation-view.ts';
import { finish, ownAllocation } from './allocation-wait.ts';
import { price } from './catalog.ts';

type Estimate = Operations['allocationEstimate']['response'];

/** How long an interrupted launch waits for its response, which contains the ID. */
const ANSWER_GRACE_MS = 5_000;

export const tagsFrom = (given: readonly string[]): Record<string, string> => {
  const tags = new Map<string, string>();
  for (const pair of given) {
    const [, key = '', value = ''] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (key === '') throw new UsageError(`"${pair}" is not a tag.`, 'Write it like --tag team=vision');
    if (tags.has(key)) throw new UsageError(`Tag ${key} is given twice.`);
    tags.set(key, value);
  }
  return Object.fromEntries(tags);
};

const flags = {
  sku: required(text('SKU to launch; see gpuaas sku list', 'name')),
  region: required(text('Region; see gpuaas region list', 'name')),
  gpus: required(integer('Number of GPUs')),
  image: text('Operating system image of a slice; see gpuaas image list', 'name'),
  'vm-profile': text('CPU and memory of a slice; see gpuaas sku get', 'name'),
  'ssh-key': list('SSH key to install, by name or ID; repeatable', 'key'),
  tag: list('Tag, like team=vision; repeatable', 'key=value'),
  protect: toggle('Block release until unprotected'),
  'max-duration': duration('Release automatically this long after activation, like 4h'),
  storage: choice('Data disks: raw (blank) or formatted (ext4 at /data/1, /data/2 …) (default raw)', STORAGE_KINDS),
  network: choice('Network of a slice; --dry-run lists what is available', NETWORK_CHOICES),
  'user-data': text('Cloud-config or script for the first boot of a slice', 'file'),
  'dry-run': toggle('Show price, quota and fit without launching'),
  ...waitFlags,
  ...keyFlags,
} as const;

type Launch = Readonly<{ name: string; flags: FlagsOf<typeof flags> }>;

type Fits = Readonly<{ capacity_shape?: string; sku_name?: string; region_name?: string; gpu_count?: number }>;

/**
 * The same launch with what fits now, without what belongs to the refused shape: a VM profile to its SKU and count, an
 * image, a network and user data to the SKU, and formatted data disks to a slice of several GPUs.
 */
const commandFor = (cli: Cli, { name, flags: asked }: Launch, fits: Fits): string => {
  const sku = fits.sku_name ?? asked.sku;
  const count = fits.gpu_count ?? asked.gpus;
  const isSameSku = sku === asked.sku;
  const option = (word: string, value: string | undefined) => (value === undefined ? [] : [`--${word}`, value]);
  return commandLine([
    ...['gpuaas', 'allocation', 'create', name],
    ...option('sku', sku),
    ...option('region', fits.region_name ?? asked.region),
    ...option('gpus', String(count)),
    ...option('image', isSameSku ? asked.image : undefined),
    ...option('vm-profile', isSameSku && count === asked.gpus ? asked.vmProfile : undefined),
    ...(asked.sshKey ?? []).flatMap((key) => ['--ssh-key', key]),
    ...(asked.tag ?? []).flatMap((tag) => ['--tag', tag]),
    ...(asked.protect ? ['--protect'] : []),
    ...option('max-duration', asked.maxDuration === undefined ? undefined : formatDuration(asked.maxDuration)),
    ...option('storage', isSameSku && count > 1 ? asked.storage : undefined),
    ...option('network', isSameSku ? asked.network : undefined),
    ...option('user-data', isSameSku ? asked.userData : undefined),
    ...(asked.wait ? ['--wait'] : []),
    ...cli.scope_words,
  ]);
};

const withCommands = (cli: Cli, launch: Launch, refusal: GpuaasError): GpuaasError =>
  refusal.reasons.length === 0 && refusal.alternatives.length === 0
    ? refusal
    : new RefusedError(
        refusal,
        refusal.alternatives.map((fits) => commandFor(cli, launch, fits as Fits)),
      );

const isKnownCode = (code: string): code is GpuaasErrorCode => Object.hasOwn(ERRORS, code);

/** The refusal that a create request would get now. */
const refusalOf = (estimate: Estimate, launch: Launch): GpuaasError => {
  const stated = estimate.reasons[0]?.['detail'];
  const asked = `${gpus(launch.flags.gpus)} of ${launch.flags.sku} in ${launch.flags.region}`;
  const detail = typeof stated === 'string' ? stated : `${asked} cannot be launched now.`;
  const code = estimate.code ?? 'insufficient_capacity';
  const { reasons, alternatives } = estimate;
  return new GpuaasError(isKnownCode(code) ? code : 'unexpected_response', detail, { reasons, alternatives });
};

const fitsText = ({ fits_now, fits_on_nodes }: Estimate): string => {
  if (!fits_now) return 'no';
  if (fits_on_nodes >= 100) return 'yes, on 100 nodes or more';
  return `yes, on ${fits_on_nodes === 1 ? '1 node' : `${fits_on_nodes} nodes`}`;
};

type Choice = Estimate['storage' | 'network'][number];

/** What the launch gets, what else is available, and the server's reason for each choice that is not. */
const choicesText = (choices: readonly Choice[], asked: string | undefined): string => {
  const available = choices.filter((one) => one.available).map(({ name }) => name);
  const chosen = available.find((name) => asked === undefined || name === asked) ?? 'none';
  const others = available.filter((name) => name !== chosen);
  const got =
    others.length === 0 ? chosen : `${chosen} (${chosen === 'none' ? '' : 'also '}available: ${others.join(', ')})`;
  const refused = choices.flatMap(({ name, reason }) =>
    reason === null ? [] : [`${name} is not available: ${reason}`],
  );
  return refused.length === 0 ? got : [`${got}.`, ...refused].join(' ');
};

/** The refusal of a choice that is not available for the launch. */
const choiceRefusal = (word: string, choices: readonly Choice[], asked: string | undefined): GpuaasError | null => {
  const reason = choices.find(({ name }) => name === asked)?.reason ?? null;
  return reason === null ? null : new GpuaasError('invalid_request', `--${word} ${asked} is not available. ${reason}`);
};

const dryRun = async (cli: Cli, project_id: string, launch: Launch): Promise<void> => {
  const { sku, region, gpus: gpu_count, image } = launch.flags;
  const body = { sku_name: sku, region_name: region, gpu_count, image_name: image };
  const client = await cli.client();
  const estimate = await client.allocationEstimate({ params: { project_id }, body }, { signal: cli.signal });
  const left = estimate.quota_gpus_after;
  cli.out.item(estimate, {
    request: `${gpus(gpu_count)} of ${sku} in ${region}`,
    'fits now': fitsText(estimate),
    'largest set': gpus(estimate.largest_set),
    'per hour': price(estimate.price_per_hour),
    'per day': price(estimate.price_per_day),
    'per month': price(estimate.price_per_month),
    storage: choicesText(estimate.storage, launch.flags.storage),
    network: choicesText(estimate.network, launch.flags.network),
    fabric: estimate.fabric.detail,
    'quota after': left === null ? 'no limit' : left < 0 ? `${gpus(-left)} too few` : `${gpus(left)} left`,
  });
  const refusal =
    choiceRefusal('storage', estimate.storage, launch.flags.storage) ??
    choiceRefusal('network', estimate.network, launch.flags.network);
  if (refusal !== null) throw refusal;
  if (!estimate.fits_now) throw withCommands(cli, launch, refusalOf(estimate, launch));
  if (!cli.out.json) cli.out.say('Nothing was launched.');
};

/** Aborts only after a delay, so that a response that is already on its way still arrives. */
const delayed = (signal: AbortSignal): AbortSignal => {
  const controller = new AbortController();
  const follow = () => setTimeout(() => controller.abort(signal.reason), ANSWER_GRACE_MS).unref();
  signal.addEventListener('abort', follow, { once: true });
  return controller.signal;
};

export const create = command({
  name: 'create',
  summary: 'Launch bare metal, or a slice of 1, 2, 4 or 8 GPUs',
  scope: 'project',
  args: { name: 'Lower-case name, unique among live allocations of the project' },
  flags,
  examples: ['gpuaas launch a --sku h200-sxm-slice --region us-buffalo-1 --gpus 4 --wait'],
  run: async (cli, { args, flags: asked }) => {
    const launch: Launch = { name: args.name, flags: asked };
    const tags = asked.tag === undefined ? undefined : tagsFrom(asked.tag);
    const project_id = await cli.project();
    if (asked.dryRun) return dryRun(cli, project_id, launch);
    const user_data = await userDataFrom(cli.io, asked.userData);
    const ssh_key_ids = asked.sshKey && (await Promise.all(asked.sshKey.map((key) => sshKeyId(cli, key))));
    const body = {
      name: args.name,
      sku_name: asked.sku,
      region_name: asked.region,
      gpu_count: asked.gpus,
      image_name: asked.image,
      vm_profile: asked.vmProfile,
      ssh_key_ids,
      tags,
      is_protected: asked.protect,
      max_duration_s: asked.maxDuration === undefined ? undefined : asked.maxDuration / 1000,
      storage: asked.storage,
      network: asked.network,
      user_data,
    };
    const idempotencyKey = asked.idempotencyKey ?? newIdempotencyKey();
    const options = { idempotencyKey, signal: delayed(cli.signal) };
    const client = await cli.client();
    const response = await client.call('allocationCreate', { params: { project_id }, body }, options).catch((err) => {
      if (err instanceof GpuaasError) throw withCommands(cli, launch, err);
      if (!(err instanceof Interrupted)) throw err;
      throw new CliError(
        'interrupted',
        'Interrupted before the API responded; it may have been launched.',
        `Run the same command with --idempotency-key ${idempotencyKey}: it returns the launch, or launches once.`,
      );
    });
    const { id, name, gpu_count, sku_name, region_name } = response.data;
    const sentence = `Launching ${name} (${id}): ${gpus(gpu_count)} of ${sku_name} in ${region_name}.`;
    const undo = commandLine(['gpuaas', 'allocation', 'release', id, ...cli.scope_words]);
    if (cli.signal.aborted && !asked.wait)
      throw new CliError('interrupted', `Interrupted; the launch was accepted. ${sentence}`, `Release it: ${undo}`);
    await finish(cli, response, {
      ...ownAllocation(cli, { project_id, allocation_id: id }, 'active', asked.timeout),
      sentence,
      wait: asked.wait,
      dataOf: (allocation) => allocation,
    });
    if (!asked.wait || cli.out.json) return;
    const way = ssh_key_ids === undefined ? 'terminal' : 'ssh';
    cli.out.say(`Connect: ${commandLine(['gpuaas', way, name, ...cli.scope_words])}`);
  },
});
