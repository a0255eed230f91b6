/**
 * `gpuaas-node-agent discover`: prints what the agent would report of this host, or of a recording, without a control
 * plane. It changes nothing.
 */
import { parseArgs } from 'node:util';
import { createFiles } from '../host/linux/files.ts';
import { createLinuxHost } from '../host/linux/host.ts';
import { createRecorder } from '../host/linux/record.ts';
import { createRun } from '../host/linux/run.ts';
import { collectFacts } from '../topology/collect.ts';
import { mapHash, topologyOf } from '../topology/topology.ts';
import { describeHost } from './discover-text.ts';

export const DISCOVER_USAGE = `Usage: gpuaas-node-agent discover [options]

Reads this host, or a recording of one, and prints its candidate slots.

  --root DIR              Read the recording in DIR instead of this host
  --record DIR            Write a recording to DIR, with names removed
  --json                  Print facts and candidates as JSON
  --accelerator ID        Only these GPUs, as vendor:device; repeatable
  --fabric-function ID    Only these fabric functions, as vendor:device; repeatable
  --private-network CIDR  Network of suggested addresses (default 10.100.0.0/24)
  --node-id ID            Node of suggested MAC addresses (default nod_unknown)
  --help                  Print this help
`;

export type Output = Readonly<{ out(text: string): void; err(text: string): void }>;

const OPTIONS = {
  root: { type: 'string' },
  record: { type: 'string' },
  json: { type: 'boolean', default: false },
  accelerator: { type: 'string', multiple: true, default: [] as string[] },
  'fabric-function': { type: 'string', multiple: true, default: [] as string[] },
  'private-network': { type: 'string', default: '10.100.0.0/24' },
  'node-id': { type: 'string', default: 'nod_unknown' },
  help: { type: 'boolean', default: false },
} as const;

const usageError = (io: Output, message: string): number => {
  io.err(`${message}\n\n${DISCOVER_USAGE}`);
  return 2;
};

/** Returns the exit status: 0 if the host could be read, whatever was found. */
export const discover = async (argv: readonly string[], io: Output): Promise<number> => {
  let values: ReturnType<typeof parse>;
  try {
    values = parse(argv);
  } catch (error) {
    return usageError(io, error instanceof Error ? error.message : String(error));
  }
  if (values.help) {
    io.out(DISCOVER_USAGE);
    return 0;
  }
  const { root, record } = values;
  if (root !== undefined && record !== undefined) return usageError(io, 'A recording cannot be recorded.');
  const recorder = record === undefined ? null : createRecorder({ files: createFiles(), run: createRun() }, record);
  const host = createLinuxHost({ ...(root === undefined ? {} : { root }), ...recorder });
  const facts = await collectFacts(host);
  if (recorder !== null && 'value' in facts.tools) await recorder.finish(facts.tools.value);
  const map = topologyOf(facts, {
    node_id: values['node-id'],
    accelerators: values.accelerator,
    fabric_functions: values['fabric-function'],
    private_network: values['private-network'],
  });
  const found = { facts, map, map_hash: mapHash(map) };
  io.out(values.json ? `${JSON.stringify(found, null, 2)}\n` : describeHost(found));
  return 0;
};

const parse = (argv: readonly string[]) => parseArgs({ args: [...argv], options: OPTIONS, strict: true }).values;
