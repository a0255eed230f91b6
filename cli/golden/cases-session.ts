/** Command lines about connecting: what they print before and after the stream, which has its own tests. */
import { REFUSALS } from '../../server/src/domain/sentences.ts';
import { Refusal } from './api.ts';
import type { Case } from './case.ts';
import { ids } from './fixtures.ts';
import { allocation, placementIds, provisioning } from './fixtures-allocation.ts';
import { sessionIds } from './fixtures-session.ts';

const T = '--no-json';
const { session, grant } = sessionIds;
const line = (name: string, command: string, more: Partial<Case> = {}): Case => ({
  name,
  args: command.split(' '),
  ...more,
});
const page = <T>(...items: T[]) => ({ items, next_cursor: null });
const noSsh = { ...allocation, ssh: null };
/** A name that would end the line and start an option if it were not escaped. */
const hostile = { ...allocation, name: 'x\n  ProxyCommand rm -rf /', id: `${placementIds.allocation.slice(0, -2)}9z` };

export const sessionCases: readonly Case[] = [
  line('help-ssh', 'ssh --help'),
  line('help-forward', 'forward --help'),
  line('help-ssh-config', 'ssh-config --help'),
  line('ssh-not-active', `ssh train ${T}`, { answers: { allocationGet: provisioning } }),
  line('ssh-no-host-key', `ssh train ${T}`, { answers: { allocationGet: noSsh } }),
  line('ssh-no-openssh', `ssh train ${T} -- true`, { env: { PATH: '/nowhere' } }),
  line('ssh-no-name', `ssh Train! ${T}`),
  line('ssh-unknown-flag', `ssh train nvidia-smi -L ${T}`),
  line('ssh-proxy-refused', `ssh-proxy ${placementIds.allocation} --project ${ids.project}`, {
    answers: {
      terminalTicketCreate: new Refusal(
        409,
        'conflict',
        'The allocation is being \u001b[31mreleased\u001b[0m and accepts no connections.',
      ),
    },
  }),
  line('ssh-config', 'ssh-config', { answers: { allocationList: page(allocation) } }),
  line('ssh-config-hostile', 'ssh-config', {
    answers: { allocationList: page(hostile), allocationGet: hostile },
  }),
  line('ssh-config-write', `ssh-config --write ${T}`, { answers: { allocationList: page(allocation) } }),
  line('ssh-config-write-json', 'ssh-config --write train'),
  line('ssh-config-missing', `ssh-config --write missing ${T}`),
  line('ssh-config-remove', `ssh-config --remove ${T}`),
  line('terminal-no-gateway', `terminal train ${T}`),
  line('console-no-gateway', 'console train --project default'),
  line('forward-no-port', `forward train ${T}`),
  line('forward-bad-port', `forward train 70000 ${T}`),
  line('forward', `forward train 0:8888 ${T}`, { interruptAfter: 'Press Ctrl-C to stop.' }),
  line('forward-forbidden', `forward train 0:8888 ${T}`, {
    answers: { terminalTicketCreate: new Refusal(403, 'policy_denied', REFUSALS.session_not_recorded('organization')) },
  }),
  line('ssh-proxy-forbidden', `ssh-proxy ${placementIds.allocation} --project ${ids.project}`, {
    answers: { terminalTicketCreate: new Refusal(403, 'policy_denied', REFUSALS.session_not_recorded('project')) },
  }),
  line('allocation-session-list', `allocation session list train ${T}`),
  line('allocation-session-json', 'allocation session list train'),
  line('allocation-session', `allocation session get train ${session} ${T}`),
  line('allocation-session-end', `allocation session end train ${session} --yes ${T}`),
  line('allocation-recording', `allocation recording train ${session}`),
  line('allocation-recording-file', `allocation recording train ${session} -o train.cast ${T}`),
  line('allocation-recording-exists', `allocation recording train ${session} -o train.cast ${T}`, {
    files: { 'train.cast': '' },
  }),
  line('allocation-grant', `allocation grant train --key laptop ${T}`),
  line('allocation-grant-list', `allocation grants train ${T}`),
  line('allocation-revoke', `allocation revoke train ${grant} --yes ${T}`),
  line('organization-access-policy', `organization access-policy ${T}`),
  line('organization-access-policy-set', `organization access-policy --set records_terminals=yes ${T}`),
  line('organization-access-policy-unknown', `organization access-policy --set records=yes ${T}`),
];
