/** The clock of the database: after a step forward, work that ends something by time waits until it is confirmed. */
import type { Operations } from '@gpuaas/sdk';
import { command, type Group, required, text } from '../command.ts';
import { ifMatchFlags, keyFlags, yesFlags } from '../flags.ts';
import { shortTime } from '../table.ts';

type Clock = Operations['adminClockGet']['response'];

const fields = (clock: Clock): Record<string, unknown> => ({
  held: clock.is_held,
  'database time': shortTime(clock.database_time),
  'last check': clock.checked_at === null ? 'never' : shortTime(clock.checked_at),
  ...(clock.held_since === null ? {} : { 'held since': shortTime(clock.held_since) }),
  ...(clock.reason === null ? {} : { reason: clock.reason }),
  agents: `${clock.agents.agreeing} of ${clock.agents.reported} agree with the database (${clock.agents.known} known)`,
  ...(clock.ended_at === null ? {} : { 'last hold ended': shortTime(clock.ended_at), 'ended by': clock.ended_by }),
});

export const adminClock: Group = {
  name: 'clock',
  summary: 'Show and confirm the clock of the database',
  commands: [
    command({
      name: 'show',
      summary: 'Show whether the clock of the database is trusted',
      run: async (cli) => {
        const clock = await (await cli.client()).adminClockGet({}, { signal: cli.signal });
        cli.out.item(clock, fields(clock));
        if (clock.is_held && !cli.out.json)
          cli.out.say(
            'Time-based work is paused: no allocation is released, no task expires, nothing is deleted. If the time above is right: gpuaas admin clock confirm --reason REASON',
          );
      },
    }),
    command({
      name: 'confirm',
      summary: 'Confirm that the clock of the database is right',
      flags: { reason: required(text('Reason, recorded in the audit log')), ...ifMatchFlags, ...yesFlags, ...keyFlags },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const { version, database_time } = await client.adminClockGet({}, { signal: cli.signal });
        await cli.confirm(
          `Is it ${shortTime(database_time)}? Everything whose time has passed is then released, ended or deleted.`,
          flags.yes,
        );
        const ifMatch = flags.ifMatch ?? version;
        const options = { idempotencyKey: flags.idempotencyKey, ifMatch, signal: cli.signal };
        const response = await client.call('adminClockConfirm', { body: { reason: flags.reason } }, options);
        cli.out.done('The clock of the database is trusted.', response);
      },
    }),
  ],
};
