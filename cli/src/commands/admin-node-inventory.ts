/** What is on hosts: drift from the claims, unclaimed VMs and bundle leases, and cached images. */
import { type ApiResponse, GpuaasError, type Operations } from '@gpuaas/sdk';
import { command, type Group, required, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { UsageError } from '../exit.ts';
import { nodeId } from '../find.ts';
import { keyFlags, yesFlags } from '../flags.ts';
import { taskText } from '../state-text.ts';
import { type Column, shortDuration, shortTime } from '../table.ts';

type Inventory = Operations['adminNodeInventoryGet']['response'];
type Finding = Inventory['findings'][number];
type Vm = Inventory['vms'][number];
type Image = Operations['adminNodeImageList']['response']['images'][number];

const node = { node: 'Name or ID' } as const;
const SECOND_MS = 1000;
/** Enough to distinguish images of a host; every command accepts a digest prefix. */
const SHORT_DIGEST = 'sha256:'.length + 12;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

const findingColumns: readonly Column<Finding>[] = [
  { header: 'FINDING', value: ({ code }) => code },
  { header: 'SINCE', value: ({ since }) => shortTime(since) },
  { header: 'DETAIL', value: ({ message }) => message, shrink: 'wrap' },
];
const vmColumns: readonly Column<Vm>[] = [
  { header: 'VM', value: ({ name }) => name },
  { header: 'MANAGED', value: ({ is_managed }) => is_managed },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'DEVICES', value: ({ devices }) => devices.length, align: 'right', optional: true },
];
const imageColumns: readonly Column<Image>[] = [
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'DIGEST', value: ({ digest }) => digest.slice(0, SHORT_DIGEST) },
  { header: 'MIB', value: ({ size_bytes }) => Math.ceil(size_bytes / 1024 ** 2), align: 'right' },
  { header: 'LAST USED', value: ({ last_used_at }) => shortTime(last_used_at), optional: true },
  { header: 'VERIFIED', value: ({ verified_at }) => shortTime(verified_at), optional: true },
];

const drift = command({
  name: 'drift',
  summary: 'Show differences between a host and its claims',
  args: node,
  run: async (cli, { args }) => {
    const params = { node_id: await nodeId(cli, args.node) };
    const found = await (await cli.client()).adminNodeInventoryGet({ params }, { signal: cli.signal });
    cli.out.item(found, {
      node: found.node_id,
      reported: `${shortTime(found.observed_at)}, ${shortDuration(found.age_s * SECOND_MS)} ago`,
      findings: found.findings.length === 0 ? 'none' : found.findings.length,
      VMs: found.vms.length,
      'bundle leases': found.leases.length,
      ...(found.repaired.length === 0 ? {} : { repaired: found.repaired }),
    });
    if (cli.out.json) return;
    if (found.findings.length > 0) cli.out.table(found.findings, findingColumns);
    if (found.vms.length > 0) cli.out.table(found.vms, vmColumns);
    if (found.findings.some(({ code }) => code === 'orphan_vm'))
      cli.out.say(`Remove an unclaimed VM: gpuaas admin node vm remove ${args.node} VM`);
    if (found.findings.some(({ code }) => code === 'lease_without_claim'))
      cli.out.say(`End an unclaimed bundle lease: gpuaas admin node bundle-lease end ${args.node} ALLOCATION`);
  },
});

const vmRemove = command({
  name: 'remove',
  summary: 'Remove an unclaimed VM from a host',
  args: { ...node, vm: 'Name from drift' },
  flags: { reason: required(text('Reason, recorded in the audit log')), ...yesFlags, ...keyFlags },
  run: async (cli, { args, flags }) => {
    const params = { node_id: await nodeId(cli, args.node), vm_name: args.vm };
    await cli.confirm(`Power off ${args.vm} on ${args.node} and remove it?`, flags.yes);
    const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
    const request = { params, body: { reason: flags.reason } };
    const response = await (await cli.client()).call('adminNodeVmRemove', request, options);
    cli.out.done(
      `Task ${response.data.id} ${taskText(response.data.state)}; see gpuaas admin node tasks ${args.node}.`,
      response,
    );
  },
});

const bundleLeaseEnd = command({
  name: 'end',
  summary: 'End an unclaimed bundle lease and remove its VM',
  args: { ...node, allocation: 'Allocation ID from drift' },
  flags: { reason: required(text('Reason, recorded in the audit log')), ...yesFlags, ...keyFlags },
  run: async (cli, { args, flags }) => {
    const params = { node_id: await nodeId(cli, args.node), allocation_id: args.allocation };
    await cli.confirm(`End the bundle lease of ${args.allocation} on ${args.node} and remove its VM?`, flags.yes);
    const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
    const request = { params, body: { reason: flags.reason } };
    printTask(cli, args.node, await (await cli.client()).call('adminNodeBundleLeaseEnd', request, options));
  },
});

const printTask = (
  cli: Cli,
  named: string,
  response: ApiResponse<Operations['adminNodeImageEvict']['response']>,
): void =>
  cli.out.done(
    `Task ${response.data.id} ${taskText(response.data.state)}; see gpuaas admin node tasks ${named}.`,
    response,
  );

/** By name, digest or digest prefix. */
const digestOf = async (cli: Cli, node_id: string, named: string): Promise<string> => {
  if (DIGEST.test(named)) return named;
  const { images: all } = await (await cli.client()).adminNodeImageList(
    { params: { node_id } },
    { signal: cli.signal },
  );
  const found = all.filter(({ name, digest }) => name === named || digest.startsWith(named));
  const [only] = found;
  if (only === undefined) throw new GpuaasError('not_found', `No image ${named} on the node.`);
  if (found.length > 1) throw new UsageError(`More than one image matches ${named}.`, 'Use its digest.');
  return only.digest;
};

const call = async (
  cli: Cli,
  operation: 'adminNodeImageEvict' | 'adminNodeImageVerify',
  given: Readonly<{ node: string; image: string; key: string | undefined }>,
) => {
  const node_id = await nodeId(cli, given.node);
  const body = { digest: await digestOf(cli, node_id, given.image) };
  const options = { idempotencyKey: given.key, signal: cli.signal };
  return (await cli.client()).call(operation, { params: { node_id }, body }, options);
};

const ofImage = { ...node, image: 'Name or digest, from image list' } as const;

const images: Group = {
  name: 'image',
  summary: 'Manage cached images of hosts',
  commands: [
    command({
      name: 'list',
      summary: 'List cached images of a host',
      args: node,
      run: async (cli, { args }) => {
        const params = { node_id: await nodeId(cli, args.node) };
        const found = await (await cli.client()).adminNodeImageList({ params }, { signal: cli.signal });
        if (found.unreadable !== null) cli.out.say(`The cache could not be read: ${found.unreadable}`);
        cli.out.list({ items: found.images, next_cursor: null }, imageColumns);
      },
    }),
    command({
      name: 'pull',
      summary: 'Download an image to hosts before a launch needs it',
      args: { nodes: 'Name or ID; separate several by commas', image: 'Name in the catalog' },
      flags: { digest: text('Version to use (default: the newest)', 'sha256:hex') },
      examples: ['gpuaas admin node image pull j22u15,j22u16 ubuntu-24.04-h200-cuda'],
      run: async (cli, { args, flags }) => {
        const body = { image_name: args.image, ...(flags.digest === undefined ? {} : { digest: flags.digest }) };
        for (const named of args.nodes.split(',')) {
          const params = { node_id: await nodeId(cli, named) };
          const client = await cli.client();
          printTask(cli, named, await client.call('adminNodeImagePull', { params, body }, { signal: cli.signal }));
        }
      },
    }),
    command({
      name: 'evict',
      summary: 'Remove an image from a host; refused while a launch uses it',
      args: ofImage,
      flags: keyFlags,
      run: async (cli, { args, flags }) =>
        printTask(cli, args.node, await call(cli, 'adminNodeImageEvict', { ...args, key: flags.idempotencyKey })),
    }),
    command({
      name: 'verify',
      summary: 'Verify the digest of an image on a host; a changed image is removed',
      args: ofImage,
      flags: keyFlags,
      run: async (cli, { args, flags }) =>
        printTask(cli, args.node, await call(cli, 'adminNodeImageVerify', { ...args, key: flags.idempotencyKey })),
    }),
  ],
};

const vms: Group = { name: 'vm', summary: 'Remove unclaimed VMs', commands: [vmRemove] };
const bundleLeases: Group = {
  name: 'bundle-lease',
  summary: 'End unclaimed bundle leases',
  commands: [bundleLeaseEnd],
};

export const nodeInventoryCommands = [drift, vms, bundleLeases, images] as const;
