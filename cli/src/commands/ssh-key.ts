import { readSshPublicKey, type SshKey } from '@gpuaas/sdk';
import { command, type Group } from '../command.ts';
import { UsageError } from '../exit.ts';
import { sshKeyId } from '../find.ts';
import { collect, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { type Io, readNamed } from '../io.ts';
import { type Column, shortTime } from '../table.ts';

const columns: readonly Column<SshKey>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'ALGORITHM', value: ({ algorithm }) => algorithm },
  { header: 'ADDED', value: ({ created_at }) => shortTime(created_at) },
  { header: 'FINGERPRINT', value: ({ fingerprint }) => fingerprint, optional: true },
];

/** A private key must not leave this computer, not even by mistake. */
const publicKeyFrom = async (io: Io, source: string): Promise<string> => {
  const content = await readNamed(io, source);
  if (content === null)
    throw new UsageError(`${source} cannot be read.`, 'Specify the public key file, such as ~/.ssh/id_ed25519.pub');
  const read = readSshPublicKey(content);
  if (read.problem !== null) throw new UsageError(`${source}: ${read.problem}`);
  return read.public_key;
};

export const sshKey: Group = {
  name: 'ssh-key',
  summary: 'Manage your SSH public keys',
  commands: [
    command({
      name: 'list',
      summary: 'List your keys',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.sshKeyList({ query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), columns);
      },
    }),
    command({
      name: 'add',
      summary: 'Add a public key',
      args: { name: 'Lower-case name', file: 'Public key file, or - for standard input' },
      flags: { ...keyFlags },
      examples: ['gpuaas ssh-key add laptop ~/.ssh/id_ed25519.pub'],
      run: async (cli, { args, flags }) => {
        const body = { name: args.name, public_key: await publicKeyFrom(cli.io, args.file) };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('sshKeyCreate', { body }, options);
        cli.out.done(
          `Added SSH key ${response.data.name} (${response.data.id}), ${response.data.fingerprint}.`,
          response,
        );
      },
    }),
    command({
      name: 'get',
      summary: 'Show one key',
      args: { key: 'Name or ID' },
      run: async (cli, { args }) => {
        const params = { ssh_key_id: await sshKeyId(cli, args.key) };
        cli.out.item(await (await cli.client()).sshKeyGet({ params }, { signal: cli.signal }));
      },
    }),
    command({
      name: 'delete',
      summary: 'Remove a key',
      args: { key: 'Name or ID' },
      flags: yesFlags,
      run: async (cli, { args, flags }) => {
        const id = await sshKeyId(cli, args.key);
        await cli.confirm(`Remove SSH key ${args.key}?`, flags.yes);
        const response = await (await cli.client()).call(
          'sshKeyDelete',
          { params: { ssh_key_id: id } },
          { signal: cli.signal },
        );
        cli.out.done(`Removed SSH key ${id}.`, response, { id, deleted: true });
      },
    }),
  ],
};
