/** Interactive sessions: the serial console, and a shell that needs no SSH key. */
import { command, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { allocationParams } from '../find.ts';
import { interact } from '../interactive.ts';
import { codeOfEnd, openSession } from '../session.ts';
import { named } from './allocation-pages.ts';

const LEAVE = 'Type ~. at the start of a line to leave.';

const printHowToLeave = (cli: Cli, isTyped = true): void => {
  if (cli.io.stdin.isTTY === true) cli.out.say(isTyped ? LEAVE : 'Press Ctrl-C to leave.');
};

export const serialConsole = command({
  name: 'console',
  summary: 'Open the serial console; needs no network in the guest OS',
  scope: 'project',
  args: named,
  flags: { 'read-only': toggle('Show output only; send no input') },
  run: async (cli, { args, flags }) => {
    const stream = await openSession(cli, { ...(await allocationParams(cli, args.allocation)), kind: 'console' });
    const reads = flags.readOnly !== true;
    if (reads && !stream.session.is_writable) cli.out.say('This session is read-only.');
    printHowToLeave(cli, reads && stream.session.is_writable);
    const end = await interact(cli, stream, { reads });
    if (end.reason === 'ended') cli.out.say(end.message);
    return codeOfEnd(end, ['console', args.allocation, ...cli.scope_words]);
  },
});

export const terminal = command({
  name: 'terminal',
  summary: 'Open a shell without an SSH key',
  scope: 'project',
  args: named,
  run: async (cli, { args }) => {
    const { columns: cols, rows } = cli.io.stdout;
    const stream = await openSession(cli, {
      ...(await allocationParams(cli, args.allocation)),
      kind: 'terminal',
      cols: cols || undefined,
      rows: rows || undefined,
    });
    printHowToLeave(cli);
    const end = await interact(cli, stream);
    return codeOfEnd(end, ['terminal', args.allocation, ...cli.scope_words]);
  },
});
