/** What is on hosts: where that is not what claims say, machines that nobody claims, and images at hand. */
import { type Answer, GpuaasError, type Operations } from '@gpuaas/sdk';
import { command, type Group, required, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { UsageError } from '../exit.ts';
import { nodeId } from '../find.ts';
import { keyFlags, yesFlags } from '../flags.ts';
import { type Column, shortDuration, shortTime } from '../table.ts';

type Inventory = Operations['adminNodeInventoryGet']['response'];
type Finding = Inventory['findings'][number];
type Machine = Inventory['vms'][number];
type Image = Operations['adminNodeImageList']['response']['images'][number];

const node = { node: 'name or id' } as const;
const SECOND_MS = 1000;
/** Enough to tell images of a host apart; every command takes the beginning of a digest. */
const SHORT_DIGEST = 'sha256:'.length + 12;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

const findingColumns: readonly Column<Finding>[] = [
  { header: 'FOUND', value: ({ code }) => code },
  { header: 'SINCE', value: ({ since }) => shortTime(since) },
  { header: 'WHAT', value: ({ message }) => message, shrink: 'wrap' },
];
const machineColumns: readonly Column<Machine>[] = [
  { header: 'MACHINE', value: ({ name }) => name },
  { header: 'OURS', value: ({ is_managed }) => is_managed },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'DEVICES', value: ({ devices }) => devices.length, align: 'right', optional: true },
];
const imageColumns: readonly Column<Image>[] = [
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'DIGEST', value: ({ digest }) => digest.slice(0, SHORT_DIGEST) },
  { header: 'MIB', value: ({ size_bytes }) => Math.ceil(size_bytes / 1024 ** 2), align: 'right' },
  { header: 'USED', value: ({ last_used_at }) => shortTime(last_used_at), optional: true },
  { header: 'VERIFIED', value: ({ verified_at }) => shortTime(verified_at), optional: true },
];

const drift = command({
  name: 'drift',
  summary: 'where a host is not as claims say: machines, leases, devices, network',
  args: node,
  run: async (cli, { args }) => {
    const params = { node_id: await nodeId(cli, args.node) };
    const found = await (await cli.client()).adminNodeInventoryGet({ params }, { signal: cli.signal });
    cli.out.item(found, {
      node: found.node_id,
      'looked at': `${shortTime(found.observed_at)}, ${shortDuration(found.age_s * SECOND_MS)} ago`,
      findings: found.findings.length === 0 ? 'none' : found.findings.length,
      vms: found.vms.length,
      leases: found.leases.length,
      ...(found.repaired.length === 0 ? {} : { 'put right': found.repaired }),
    });
    if (cli.out.json) return;
    if (found.findings.length > 0) cli.out.table(found.findings, findingColumns);
    if (found.vms.length > 0) cli.out.table(found.vms, machineColumns);
    if (found.findings.some(({ code }) => code === 'orphan_vm'))
      cli.out.say(`To remove a machine that nobody claims: gpuaas admin node machine-remove ${args.node} MACHINE`);
    if (found.findings.some(({ code }) => code === 'lease_without_claim'))
      cli.out.say(`To end a lease that no claim knows: gpuaas admin node lease-end ${args.node} ALLOCATION`);
  },
});

const machineRemove = command({
  name: 'machine-remove',
  summary: 'remove a machine of ours that nobody claims from its host',
  args: { ...node, machine: 'as drift names it' },
  flags: { reason: required(text('why; kept in the audit')), ...yesFlags, ...keyFlags },
  run: async (cli, { args, flags }) => {
    const params = { node_id: await nodeId(cli, args.node), vm_name: args.machine };
    await cli.confirm(`Switch ${args.machine} off on ${args.node} and remove it?`, flags.yes);
    const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
    const request = { params, body: { reason: flags.reason } };
    const answer = await (await cli.client()).call('adminNodeVmRemove', request, options);
    cli.out.done(`Task ${answer.data.id} is ${answer.data.state}; see gpuaas admin node tasks ${args.node}.`, answer);
  },
});

const leaseEnd = command({
  name: 'lease-end',
  summary: 'end a lease of a host that no claim knows, and the machine it is for',
  args: { ...node, allocation: 'id, as drift names it' },
  flags: { reason: required(text('why; kept in the audit')), ...yesFlags, ...keyFlags },
  run: async (cli, { args, flags }) => {
    const params = { node_id: await nodeId(cli, args.node), allocation_id: args.allocation };
    await cli.confirm(`End the lease of ${args.allocation} on ${args.node} and remove its machine?`, flags.yes);
    const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
    const request = { params, body: { reason: flags.reason } };
    told(cli, args.node, await (await cli.client()).call('adminNodeBundleLeaseEnd', request, options));
  },
});

const told = (cli: Cli, named: string, answer: Answer<Operations['adminNodeImageEvict']['response']>): void =>
  cli.out.done(`Task ${answer.data.id} is ${answer.data.state}; see gpuaas admin node tasks ${named}.`, answer);

/** By name, digest, or the beginning of one. */
const digestOf = async (cli: Cli, node_id: string, named: string): Promise<string> => {
  if (DIGEST.test(named)) return named;
  const { images: all } = await (await cli.client()).adminNodeImageList(
    { params: { node_id } },
    { signal: cli.signal },
  );
  const found = all.filter(({ name, digest }) => name === named || digest.startsWith(named));
  const [only] = found;
  if (only === undefined) throw new GpuaasError('not_found', `There is no image ${named} on the node.`);
  if (found.length > 1) throw new UsageError(`More than one image is ${named}.`, 'Name it by its digest.');
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

const ofImage = { ...node, image: 'name or digest, as image list has it' } as const;

const images: Group = {
  name: 'image',
  summary: 'images at hand on hosts',
  commands: [
    command({
      name: 'list',
      summary: 'images in the cache of a host, when they were used and checked',
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
      summary: 'have hosts fetch an image before a launch needs it',
      args: { nodes: 'name or id; several with commas between', image: 'name in the catalog' },
      flags: { digest: text('a certain version; the newest unless told', 'sha256:hex') },
      examples: ['gpuaas admin node image pull j22u15,j22u16 ubuntu-24.04-h200-cuda'],
      run: async (cli, { args, flags }) => {
        const body = { image_name: args.image, ...(flags.digest === undefined ? {} : { digest: flags.digest }) };
        for (const named of args.nodes.split(',')) {
          const params = { node_id: await nodeId(cli, named) };
          const client = await cli.client();
          told(cli, named, await client.call('adminNodeImagePull', { params, body }, { signal: cli.signal }));
        }
      },
    }),
    command({
      name: 'evict',
      summary: 'have a host drop an image; refused while a machine is being made of it',
      args: ofImage,
      flags: keyFlags,
      run: async (cli, { args, flags }) =>
        told(cli, args.node, await call(cli, 'adminNodeImageEvict', { ...args, key: flags.idempotencyKey })),
    }),
    command({
      name: 'verify',
      summary: 'have a host hash an image again; one that is not what it was is dropped',
      args: ofImage,
      flags: keyFlags,
      run: async (cli, { args, flags }) =>
        told(cli, args.node, await call(cli, 'adminNodeImageVerify', { ...args, key: flags.idempotencyKey })),
    }),
  ],
};

export const nodeInventoryCommands = [drift, machineRemove, leaseEnd, images] as const;
