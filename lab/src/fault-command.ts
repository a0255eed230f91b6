/**
 * `gpuaas-lab fault`: adds rules to the directory of a simulated host, which reads them before each operation. The
 * control plane is not involved: it detects the fault as with a real host.
 */
import { existsSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { TASK_KINDS } from '@gpuaas/contract/node';
import type { HostErrorCode } from '../../node-agent/src/host/host.ts';
import {
  addFault,
  CAN_FAKE_SUCCESS,
  clearFaults,
  FAULT_EFFECTS,
  FAULT_STATES,
  type FaultRule,
  HOST_OPERATIONS,
  isStateFault,
  type NewFault,
  readFaults,
} from '../../node-agent/src/host/sim/fault.ts';
import { fleetDir, machineDir } from './fleet-dir.ts';
import { UsageError } from './usage.ts';

export const FAULT_HELP = `Usage: gpuaas-lab fault add|list|clear|states [options]

Injects faults into a simulated host. A rule either disturbs an operation
(--when, --do) or sets a state (--state) until it is cleared.

  add    --node NAME --when OPERATION --do ${FAULT_EFFECTS.join('|')}
         --node NAME --state STATE [--value N]
  list   [--node NAME]            rules of one host or of all
  clear  --node NAME [ID ...]     these rules, or all of the host
  states                          values of --when and --state

Options of add:
  --when OPERATION     a kind of task (slice.vm_start) or an operation of the
                       host (disks.wipe)
  --do DEED            hang: does not return    fail: reports an error
                       crash: the agent dies    lie: reports false success
                       slow: takes long
  --times N            only the first N times
  --slot N             only for the slot of this index
  --serial TEXT        only for this disk
  --address TEXT       only for this PCI function
  --after              the work is done first, then the deed
  --delay-ms N         for slow
  --code TEXT          for fail: the error code
  --message TEXT       for fail: the reason

Every subcommand takes --dir DIR, the fleet's directory, if it is not the one of
\`make up\`.

Examples:
  gpuaas-lab fault add --node j22u15 --when slice.vm_start --do fail --times 1
  gpuaas-lab fault add --node j22u11 --when slice.cleanup --do lie
  gpuaas-lab fault add --node j22u15 --state gpu_off_the_bus --slot 2
  gpuaas-lab fault clear --node j22u15
`;

const OPTIONS = {
  node: { type: 'string' },
  dir: { type: 'string' },
  when: { type: 'string' },
  do: { type: 'string' },
  state: { type: 'string' },
  value: { type: 'string' },
  times: { type: 'string' },
  slot: { type: 'string' },
  serial: { type: 'string' },
  address: { type: 'string' },
  after: { type: 'boolean' },
  'delay-ms': { type: 'string' },
  code: { type: 'string' },
  message: { type: 'string' },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

const numberOf = (flag: string, text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new UsageError(`--${flag} is a whole number, not "${text}".`);
  return value;
};

const numbers = (values: Values, flags: readonly ('times' | 'slot' | 'delay-ms' | 'value')[]) =>
  Object.fromEntries(
    flags.flatMap((flag) => {
      const text = values[flag];
      return text === undefined ? [] : [[flag.replace('-', '_'), numberOf(flag, text)]];
    }),
  );

const texts = (values: Values, flags: readonly ('serial' | 'address' | 'code' | 'message')[]) =>
  Object.fromEntries(flags.flatMap((flag) => (values[flag] === undefined ? [] : [[flag, values[flag]]])));

/** The simulator checks whether the names exist. */
export const ruleOf = (values: Values): NewFault => {
  if (values.state !== undefined) {
    if (values.when !== undefined || values.do !== undefined)
      throw new UsageError('--state stands alone; --when goes with --do.');
    return {
      state: values.state,
      ...numbers(values, ['slot', 'value']),
      ...texts(values, ['serial', 'address']),
    } as NewFault;
  }
  if (values.when === undefined || values.do === undefined)
    throw new UsageError('Give --when and --do, or --state. `gpuaas-lab fault states` lists what there is.');
  return {
    when: values.when,
    do: values.do,
    ...(values.after === true ? { after: true } : {}),
    ...numbers(values, ['times', 'slot', 'delay-ms']),
    ...(texts(values, ['serial', 'address', 'code', 'message']) as { code?: HostErrorCode }),
  } as NewFault;
};

const nodesOf = (dir: string): readonly string[] =>
  existsSync(dir) ? readdirSync(dir).filter((name) => existsSync(machineDir(dir, name))) : [];

const machineOf = (dir: string, node: string | undefined): string => {
  const there = nodesOf(dir);
  if (node === undefined) throw new UsageError('Specify a host: --node NAME.');
  if (there.includes(node)) return machineDir(dir, node);
  const shown = there.slice(0, 8).join(', ');
  throw new UsageError(
    there.length === 0
      ? `There are no simulated hosts in ${dir}.`
      : `There is no simulated host "${node}" in ${dir}; there are ${shown}${there.length > 8 ? ', ...' : ''}.`,
  );
};

const lineOf = (node: string, rule: FaultRule): string => {
  const { id, added_at: _, ...rest } = rule;
  const { when, state, do: deed, ...filters } = rest as Readonly<Record<string, unknown>>;
  const what = isStateFault(rule) ? `state ${String(state)}` : `${String(when)} ${String(deed)}`;
  const more = Object.entries(filters).map(([name, value]) => `${name}=${String(value)}`);
  return [node, id, what, ...more].join('  ');
};

/** Words in columns, in lines of at most 76. */
const wrap = (words: readonly string[]): string => {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 75) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
};

const statesText = (): string =>
  [
    '--when, kinds of task:',
    wrap(TASK_KINDS),
    '--when, operations of a host:',
    wrap(HOST_OPERATIONS),
    '--do lie, for these operations (and tasks that use them):',
    wrap(CAN_FAKE_SUCCESS),
    '--state:',
    wrap(FAULT_STATES),
  ].join('\n');

export const faultCommand = (argv: readonly string[]): void => {
  const [verb, ...rest] = argv;
  const { values, positionals } = parseArgs({ args: rest, options: OPTIONS, allowPositionals: true });
  const dir = fleetDir(values.dir);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  switch (verb) {
    case 'add': {
      const machine = machineOf(dir, values.node);
      try {
        return void say(lineOf(values.node ?? '', addFault(machine, ruleOf(values))));
      } catch (err) {
        throw new UsageError((err as Error).message);
      }
    }
    case 'list': {
      const nodes = values.node === undefined ? nodesOf(dir) : [values.node];
      for (const node of nodes) for (const rule of readFaults(machineOf(dir, node))) say(lineOf(node, rule));
      return;
    }
    case 'clear': {
      const cleared = clearFaults(machineOf(dir, values.node), positionals.length > 0 ? positionals : undefined);
      return void say(`${cleared} rules cleared`);
    }
    case 'states':
      return void say(statesText());
    default:
      throw new UsageError('fault knows add, list, clear and states.');
  }
};
