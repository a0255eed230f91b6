import type { SshKey } from '@gpuaas/sdk';
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

/** A private key must not leave the machine, not even by mistake. */
const publicKeyFrom = async (io: Io, source: string): Promise<string> => {
  const content = await readNamed(io, source);
  if (content === null)
    throw new UsageError(`${source} cannot be read.`, 'Name the file of the public key, such as ~/.ssh/id_ed25519.pub');
  if (content.includes('PRIVATE KEY'))
    throw new UsageError(`${source} is a private key.`, 'Add the public one: the file that ends in .pub');
  const line = content.split('\n').find((candidate) => candidate.trim() !== '' && !candidate.startsWith('#'));
  if (line === undefined) throw new UsageError(`${source} holds no key.`);
  return line.trim();
};

export const sshKey: Group = {
  name: 'ssh-key',
  summary: 'your SSH public keys',
  commands: [
    command({
      name: 'list',
      summary: 'your keys',
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
      summary: 'add a public key',
      args: { name: 'lower-case name', file: 'file of the public key, or - for standard input' },
      flags: { ...keyFlags },
      examples: ['gpuaas ssh-key add laptop ~/.ssh/id_ed25519.pub'],
      run: async (cli, { args, flags }) => {
        const body = { name: args.name, public_key: await publicKeyFrom(cli.io, args.file) };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const answer = await (await cli.client()).call('sshKeyCreate', { body }, options);
        cli.out.done(`Added SSH key ${answer.data.name} (${answer.data.id}), ${answer.data.fingerprint}.`, answer);
      },
    }),
    command({
      name: 'get',
      summary: 'one key',
      args: { key: 'name or id' },
      run: async (cli, { args }) => {
        const params = { ssh_key_id: await sshKeyId(cli, args.key) };
        cli.out.item(await (await cli.client()).sshKeyGet({ params }, { signal: cli.signal }));
      },
    }),
    command({
      name: 'delete',
      summary: 'remove a key',
      args: { key: 'name or id' },
      flags: yesFlags,
      run: async (cli, { args, flags }) => {
        const id = await sshKeyId(cli, args.key);
        await cli.confirm(`Remove SSH key ${args.key}?`, flags.yes);
        const answer = await (await cli.client()).call(
          'sshKeyDelete',
          { params: { ssh_key_id: id } },
          { signal: cli.signal },
        );
        cli.out.done(`Removed SSH key ${id}.`, answer, { id, deleted: true });
      },
    }),
  ],
};
