/** A site file at work: planned, shown, and applied after a review. */
import type { ApiResponse, Operations } from '@gpuaas/sdk';
import type { Cli } from './context.ts';
import { CliError } from './exit.ts';
import { readSite } from './site-file.ts';

export type Plan = Operations['adminSitePlan']['response'];
type Change = Plan['changes'][number];
type Applied = ApiResponse<Operations['adminSiteApply']['response']>;

export const NOTHING = 'The site matches the file. Nothing to change.';

const counted = (count: number): string => `${count} ${count === 1 ? 'change' : 'changes'}`;

const valuesOf = ({ action, fields }: Change): string =>
  fields
    .filter(({ after }) => action !== 'create' || after !== null)
    .map(({ name, before, after }) =>
      action === 'create' ? `${name}: ${after}` : `${name}: ${before ?? 'none'} -> ${after ?? 'none'}`,
    )
    .join('; ');

/** Ends the command where the plan cannot be applied. */
const show = (cli: Cli, plan: Plan): void => {
  cli.out.table(plan.changes, [
    { header: 'ACTION', value: ({ action }) => action },
    { header: 'SECTION', value: ({ section }) => section },
    { header: 'NAME', value: ({ name }) => name, shrink: 'wrap' },
    { header: 'VALUES', value: valuesOf, shrink: 'wrap' },
  ]);
  const blockers = plan.changes.flatMap((change) => change.blockers);
  for (const blocker of blockers) cli.out.say(`Blocked: ${blocker}`);
  if (blockers.length > 0) throw new CliError('conflict', 'Resolve the blockers, then plan again.');
};

export const planFile = async (cli: Cli, file: string): Promise<void> => {
  const { site, placed } = await readSite(cli.io, file);
  const client = await cli.client();
  const plan = await client.adminSitePlan({ body: { site } }, { signal: cli.signal }).catch((err: unknown) => {
    throw placed(err);
  });
  if (cli.out.json) return cli.out.item(plan);
  if (plan.changes.length === 0) return cli.out.say(NOTHING);
  show(cli, plan);
  const again = file === '-' ? '<file>' : file;
  cli.out.say(`${counted(plan.changes.length)}. Apply: gpuaas admin site apply -f ${again} --hash ${plan.hash}`);
};

type Applying = Readonly<{
  file: string;
  /** Of the plan that was reviewed earlier; without it the plan is shown and `agree` decides. */
  hash?: string | undefined;
  idempotencyKey?: string | undefined;
  agree(question: string): Promise<void>;
}>;

export const applyFile = async (cli: Cli, { file, hash, idempotencyKey, agree }: Applying): Promise<void> => {
  const { site, placed } = await readSite(cli.io, file);
  const client = await cli.client();
  const reviewed = async (): Promise<string | undefined> => {
    const plan = await client.adminSitePlan({ body: { site } }, { signal: cli.signal });
    if (plan.changes.length === 0) return undefined;
    show(cli, plan);
    await agree(`Apply ${counted(plan.changes.length)}?`);
    return plan.hash;
  };
  try {
    const planned = hash ?? (await reviewed());
    if (planned === undefined) return cli.out.say(NOTHING);
    const response: Applied = await client.call(
      'adminSiteApply',
      { body: { site, hash: planned } },
      { idempotencyKey, signal: cli.signal },
    );
    const count = response.data.changes.length;
    cli.out.done(count === 0 ? NOTHING : `Applied ${counted(count)}.`, response);
  } catch (err) {
    throw placed(err);
  }
};
