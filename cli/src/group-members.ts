/** An export of the issuer's groups at work: read, planned, shown, and applied after a review. */
import type { GroupMembers, Operations } from '@gpuaas/sdk';
import type { Cli } from './context.ts';
import { CliError, UsageError } from './exit.ts';
import { type Io, readNamed } from './io.ts';

type Plan = Operations['adminGroupSyncPlan']['response'];
type Change = Plan['changes'][number];

export const NOTHING = 'Memberships match the export. Nothing to change.';

/** A cut file is no JSON, and is refused here; the server checks everything else. */
const readMembers = async (io: Io, file: string): Promise<GroupMembers> => {
  const text = await readNamed(io, file);
  if (text === null) throw new UsageError(`${file} cannot be read.`);
  try {
    return JSON.parse(text) as GroupMembers;
  } catch {
    throw new UsageError(`${file} is not complete JSON.`, 'Export it again.');
  }
};

const placeOf = ({ organization_name, project_name }: Change): string =>
  project_name === null ? organization_name : `${organization_name}/${project_name}`;

const counts = ({ memberships_granted, memberships_changed, memberships_removed }: Plan): string =>
  `${memberships_granted} granted, ${memberships_changed} changed, ${memberships_removed} removed`;

const show = (cli: Cli, plan: Plan): void => {
  if (plan.changes.length > 0)
    cli.out.table(plan.changes, [
      { header: 'ACTION', value: ({ action }) => action },
      { header: 'USER', value: ({ user_name, email }) => email ?? user_name, shrink: 'cut' },
      { header: 'PLACE', value: placeOf, shrink: 'cut' },
      { header: 'ROLE', value: ({ role }) => role ?? '–' },
    ]);
  const { users_checked, users_newer, users_unknown } = plan;
  cli.out.say(`Checked ${users_checked} users. Memberships: ${counts(plan)}.`);
  if (users_newer > 0)
    cli.out.say(
      users_newer === 1
        ? '1 user signed in or was synchronized after the export and is not changed.'
        : `${users_newer} users signed in or were synchronized after the export and are not changed.`,
    );
  if (users_unknown > 0) cli.out.say(`${users_unknown} members of the export never signed in here.`);
  for (const warning of plan.warnings) cli.out.say(`Warning: ${warning}`);
};

type Wanted = Readonly<{
  file: string;
  isPlanOnly: boolean;
  /** Of the plan that was reviewed earlier; without it the plan is shown now. */
  hash: string | undefined;
  accept_warnings: boolean;
  yes: boolean | undefined;
  idempotencyKey: string | undefined;
}>;

export const syncByFile = async (cli: Cli, wanted: Wanted): Promise<void> => {
  const { file, isPlanOnly, accept_warnings, yes, idempotencyKey } = wanted;
  const members = await readMembers(cli.io, file);
  const client = await cli.client();
  const reviewed = async (): Promise<string> => {
    const plan = await client.adminGroupSyncPlan({ body: { members } }, { signal: cli.signal });
    if (isPlanOnly && cli.out.json) {
      cli.out.item(plan);
      return plan.hash;
    }
    show(cli, plan);
    const flags = plan.warnings.length > 0 ? ' --accept-warnings' : '';
    if (isPlanOnly)
      cli.out.say(
        `Apply: gpuaas admin group sync --file ${file === '-' ? '<file>' : file} --hash ${plan.hash}${flags}`,
      );
    else if (plan.warnings.length > 0 && !accept_warnings)
      throw new CliError('conflict', 'The export may be incomplete. Export it again, or add --accept-warnings.');
    else await cli.confirm(`Change memberships: ${counts(plan)}?`, yes);
    return plan.hash;
  };
  const hash = wanted.hash ?? (await reviewed());
  if (isPlanOnly) return;
  const response = await client.call(
    'adminGroupSyncApply',
    { body: { members, hash, ...(accept_warnings ? { accept_warnings } : {}) } },
    { idempotencyKey, signal: cli.signal },
  );
  cli.out.done(
    response.data.changes.length === 0 ? NOTHING : `Applied. Memberships: ${counts(response.data)}.`,
    response,
  );
};
