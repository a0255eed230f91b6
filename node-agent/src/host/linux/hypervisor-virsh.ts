/**
 * Libvirt, through virsh. A domain is addressed by UUID: a numeric name would be taken for an ID. A domain that
 * disappears during a query counts as absent.
 */
import { type ParsedDomain, parseDomain } from '../../vm/domain-read.ts';
import { type Domain, HostError, type SeenDomain } from '../host.ts';
import { outputOf, type Run } from './run.ts';

export type KnownDomain = Readonly<{
  uuid: string;
  state: Domain['state'];
  ended_by?: SeenDomain['ended_by'];
  parsed: ParsedDomain;
}>;

export type Virsh = Readonly<{
  all(): Promise<readonly KnownDomain[]>;
  find(uuid: string): Promise<KnownDomain | null>;
  state(uuid: string): Promise<Domain['state'] | null>;
  define(file: string): Promise<void>;
  /** Returns whether it acted; false for a domain that is already in that state or gone. */
  request(verb: 'start' | 'shutdown' | 'destroy' | 'reset' | 'resume', uuid: string): Promise<boolean>;
  undefine(uuid: string): Promise<void>;
  /** True if it shut down and started again, false if it did not within this time. */
  reboot(uuid: string, graceS: number): Promise<boolean>;
}>;

/** Memory of a large VM is allocated and freed page by page. */
const LONG_MS = 600_000;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const STATES: Readonly<Record<string, Domain['state']>> = {
  running: 'running',
  idle: 'running',
  'in shutdown': 'running',
  paused: 'paused',
  pmsuspended: 'paused',
  'shut off': 'shut_off',
  crashed: 'crashed',
};

const stateOf = (text: string): Domain['state'] => {
  const state = STATES[text.trim()];
  if (state === undefined)
    throw new HostError('host_error', `virsh listed a domain as ${JSON.stringify(text.trim())}.`);
  return state;
};

/** The output of `domstate --reason` for a domain that is off. After a restart of libvirt or the host it is unknown. */
const ENDS: Readonly<Record<string, SeenDomain['ended_by']>> = {
  shutdown: 'guest',
  destroyed: 'host',
  crashed: 'crash',
  panicked: 'crash',
  failed: 'crash',
};
const WITH_REASON = /^(.*?)(?: \(([^)]*)\))?$/;

const isGone = (stderr: string): boolean => /failed to get domain|Domain not found/.test(stderr);
/** Already in that state: a guest OS may shut down at any moment. */
const isSo = (stderr: string): boolean => isGone(stderr) || /domain is not running|already active/.test(stderr);

/** The kernel refused the emulator a device group: another process has it open, or had it a moment ago. */
const isGroupTaken = (stderr: string): boolean =>
  /open \/dev\/vfio\/\d+: (?:Device or resource busy|No such file)/.test(stderr);

export const createVirsh = (run: Run, connect: string): Virsh => {
  const argv = (...args: readonly string[]) => ['virsh', '--connect', connect, '--quiet', ...args] as const;
  const act = (...args: readonly string[]): Promise<string> =>
    outputOf(run, { argv: argv(...args), recorded: `virsh-${args[0]}.txt`, timeout_ms: LONG_MS });
  /** Null: there is no such domain. */
  const ask = async (command: string, what: string): Promise<string | null> => {
    const { status, stdout, stderr } = await run({ argv: argv(command), recorded: `virsh-${what}.txt` });
    if (status === 0) return stdout;
    if (isGone(stderr)) return null;
    throw new HostError('host_error', `virsh ${what} failed: ${stderr.trim().split('\n').at(-1)?.slice(0, 300)}`);
  };
  const state = async (uuid: string): Promise<Domain['state'] | null> => {
    const text = await ask(`domstate ${uuid}`, 'domstate');
    return text === null ? null : stateOf(text);
  };
  const find = async (uuid: string): Promise<KnownDomain | null> => {
    const text = await ask(`domstate ${uuid} --reason; dumpxml ${uuid}`, 'dumpxml');
    if (text === null) return null;
    const [first = '', ...xml] = text.trim().split('\n');
    const [, word = '', reason = ''] = WITH_REASON.exec(first.trim()) ?? [];
    const state = stateOf(word);
    const ended_by = state === 'shut_off' || state === 'crashed' ? (ENDS[reason] ?? null) : null;
    return { uuid, state, ended_by, parsed: parseDomain(xml.join('\n')) };
  };
  return {
    find,
    state,
    all: async () => {
      const uuids = (await act('list', '--all', '--uuid')).split('\n').filter((line) => UUID.test(line.trim()));
      const found = await Promise.all(uuids.map((uuid) => find(uuid.trim())));
      return found.filter((domain) => domain !== null);
    },
    define: async (file) => void (await act('define', '--file', file, '--validate')),
    request: async (verb, uuid) => {
      const { status, stderr } = await run({
        argv: argv(verb, uuid, ...(verb === 'shutdown' ? ['--mode', 'acpi'] : [])),
        recorded: `virsh-${verb}.txt`,
        timeout_ms: LONG_MS,
      });
      if (status === 0) return true;
      if (isSo(stderr)) return false;
      const said = `virsh ${verb} failed: ${stderr.trim().replaceAll('\n', ' ').slice(0, 500)}`;
      throw isGroupTaken(stderr) ? new HostError('vfio_group_unavailable', said) : new HostError('host_error', said);
    },
    undefine: async (uuid) => {
      const flags = ['--nvram', '--managed-save', '--snapshots-metadata', '--checkpoints-metadata'];
      const { status, stderr } = await run({ argv: argv('undefine', uuid, ...flags), recorded: 'virsh-undefine.txt' });
      if (status !== 0 && !isGone(stderr))
        throw new HostError('host_error', `virsh undefine failed: ${stderr.trim().split('\n').at(-1)?.slice(0, 300)}`);
    },
    reboot: async (uuid, graceS) => {
      // One connection: it starts to listen just after the request, before any guest OS is down.
      const { status, stderr } = await run({
        argv: argv(`reboot ${uuid} --mode acpi; event ${uuid} --event reboot --timeout ${graceS}`),
        recorded: 'virsh-reboot.txt',
        timeout_ms: (graceS + 30) * 1000,
      });
      if (isSo(stderr)) throw new HostError('drift', `VM ${uuid} is not running.`);
      return status === 0;
    },
  };
};
