import { command, type Group, integer, required, text } from '../command.ts';
import { collect, keyFlags, pageFlags } from '../flags.ts';
import { shortTime } from '../table.ts';

export const adminBackup: Group = {
  name: 'backup',
  summary: 'Record backups of the database, so that a missing one is noticed',
  commands: [
    command({
      name: 'list',
      summary: 'List recorded backups, newest data first',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminBackupList({ query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'TAKEN', value: ({ taken_at }) => shortTime(taken_at) },
          { header: 'LOCATION', value: ({ location }) => location, shrink: 'cut' },
          { header: 'BYTES', value: ({ size_bytes }) => size_bytes, align: 'right', optional: true },
          { header: 'ID', value: ({ id }) => id, optional: true },
        ]);
      },
    }),
    command({
      name: 'record',
      summary: 'Record a complete backup; the last line of a backup job',
      flags: {
        'taken-at': required(text('When the backup began, like 2026-05-01T00:00:00Z', 'time')),
        location: required(text('Where it is stored, without credentials', 'address')),
        'size-bytes': integer('Its size', 'bytes'),
        ...keyFlags,
      },
      examples: ['gpuaas admin backup record --taken-at 2026-05-01T00:00:00Z --location s3://backups/gpuaas'],
      run: async (cli, { flags }) => {
        const { takenAt: taken_at, location, sizeBytes: size_bytes } = flags;
        const body = { taken_at, location, ...(size_bytes === undefined ? {} : { size_bytes }) };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminBackupRecord', { body }, options);
        cli.out.done(`Recorded backup ${response.data.id} of ${shortTime(response.data.taken_at)}.`, response);
      },
    }),
  ],
};
