/** Command lines about the power of a slice. */
import { Refusal } from './api.ts';
import type { Case } from './case.ts';
import { allocation, placementIds, releasing } from './fixtures-allocation.ts';
import { lost, off, stopEntries, stopping, withPower } from './fixtures-power.ts';

const T = '--no-json';
const { allocation: id } = placementIds;

const line = (name: string, command: string, more: Partial<Case> = {}): Case => ({
  name,
  args: command.split(' '),
  ...more,
});
const page = <T>(items: readonly T[]) => ({ items: [...items], next_cursor: null });
const toOff: Case['answers'] = {
  allocationGet: (count) => (count === 0 ? stopping : off),
  allocationTimeline: (count) => page(count === 0 ? [] : stopEntries),
};
const files = { 'setup.yaml': '#cloud-config\npackages: [htop]\n' };

export const powerCases: readonly Case[] = [
  line('help-stop', 'allocation stop --help'),
  line('help-reinstall', 'allocation reinstall --help'),
  line('allocation-stop', `allocation stop train ${T}`),
  line('allocation-stop-hard', `allocation stop ${id} --hard`),
  line('allocation-stop-grace', `allocation stop ${id} --grace 2m ${T}`),
  line('allocation-stop-both', `allocation stop ${id} --hard --grace 2m ${T}`),
  line('allocation-stop-wait', `allocation stop train --wait ${T}`, { answers: toOff }),
  line('allocation-stop-refused', `allocation stop ${id} ${T}`, {
    answers: {
      allocationStop: new Refusal(
        409,
        'conflict',
        'The VM is rebooting. Wait until that completes, or release the allocation.',
      ),
    },
  }),
  line('allocation-stop-released', `allocation stop ${id} --wait ${T}`, {
    answers: { allocationGet: (count) => (count === 0 ? stopping : releasing), allocationTimeline: page([]) },
  }),
  line('allocation-start', `allocation start train ${T}`),
  line('allocation-start-wait', `allocation start ${id} --wait ${T}`, {
    answers: { allocationGet: allocation, allocationTimeline: page([]) },
  }),
  line('allocation-start-lost', `allocation start ${id} --wait ${T}`, {
    answers: { allocationGet: lost, allocationTimeline: page([]) },
  }),
  line('allocation-reboot', `allocation reboot train --hard ${T}`),
  {
    ...line(
      'allocation-reinstall',
      `allocation reinstall train --image debian-12-cuda --user-data setup.yaml --yes ${T}`,
    ),
    files,
  },
  line(
    'allocation-reinstall-keys',
    `allocation reinstall ${id} --ssh-key key_01k9zv3m8q4t6w2x5y7r0s1n1a --no-user-data --yes`,
  ),
  line('allocation-reinstall-needs-yes', `allocation reinstall train ${T}`),
  line('allocation-reinstall-no-file', `allocation reinstall train --user-data none.yaml --yes ${T}`),
  line('allocation-get-off', `allocation get train ${T}`, { answers: { allocationGet: off } }),
  line('allocation-power-list', `allocation list ${T}`, {
    answers: { allocationList: page([off, stopping, withPower({ state: 'reinstalling' }), lost, allocation]) },
  }),
  line('allocation-wait-off', `allocation wait train --for off ${T}`, { answers: toOff }),
];
