import type { Operations, SiteFile } from '@gpuaas/sdk';
import { command, type Group, required, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError, UsageError } from '../exit.ts';
import { keyFlags } from '../flags.ts';
import { readSite, siteText } from '../site-file.ts';

type Plan = Operations['adminSitePlan']['response'];
type Change = Plan['changes'][number];

const fileFlags = { file: { ...required(text('Site file, or - for standard input', 'file')), short: 'f' } } as const;

const fieldText = (change: Change): string => {
  const shown = change.action === 'create' ? change.fields.filter(({ after }) => after !== null) : change.fields;
  return shown
    .map(({ name, before, after }) =>
      change.action === 'create' ? `${name}: ${after}` : `${name}: ${before ?? 'none'} -> ${after ?? 'none'}`,
    )
    .join('; ');
};

const show = (cli: Cli, plan: Plan): void => {
  cli.out.table(plan.changes, [
    { header: 'ACTION', value: ({ action }) => action },
    { header: 'SECTION', value: ({ section }) => section },
    { header: 'NAME', value: ({ name }) => name, shrink: 'wrap' },
    { header: 'VALUES', value: fieldText, shrink: 'wrap' },
  ]);
  for (const { blockers } of plan.changes) for (const blocker of blockers) cli.out.say(`Blocked: ${blocker}`);
};

const isBlocked = (plan: Plan): boolean => plan.changes.some(({ blockers }) => blockers.length > 0);

const planFile = async (cli: Cli, file: string): Promise<Readonly<{ site: SiteFile; plan: Plan }>> => {
  const { site, placed } = await readSite(cli.io, file);
  try {
    return { site, plan: await (await cli.client()).adminSitePlan({ body: { site } }, { signal: cli.signal }) };
  } catch (err) {
    throw placed(err);
  }
};

const NOTHING = 'The site is as the file says. There is nothing to change.';

const counted = (count: number): string => `${count} ${count === 1 ? 'change' : 'changes'}`;

export const adminSite: Group = {
  name: 'site',
  summary: 'Describe the whole site in one file: export, plan, apply',
  commands: [
    command({
      name: 'export',
      summary: 'Print the site as a file: regions, SKUs, prices, images, pools, policy, limits, groups',
      examples: ['gpuaas admin site export > site.yaml'],
      run: async (cli) => {
        const site = await (await cli.client()).adminSiteExport({}, { signal: cli.signal });
        const schema = new URL('/site.schema.json', (await cli.settings()).url).href;
        // A site file in both forms: YAML also into a pipe.
        cli.io.stdout.write(cli.out.jsonAsked ? `${JSON.stringify(site, null, 2)}\n` : siteText(site, schema));
      },
    }),
    command({
      name: 'plan',
      summary: 'Show what applying a site file would change, and the hash to apply it with',
      flags: fileFlags,
      examples: ['gpuaas admin site plan -f site.yaml'],
      run: async (cli, { flags }) => {
        const { plan } = await planFile(cli, flags.file);
        if (cli.out.json) return cli.out.item(plan);
        if (plan.changes.length === 0) return cli.out.say(NOTHING);
        show(cli, plan);
        if (isBlocked(plan)) throw new CliError('conflict', 'Resolve what blocks it, then plan again.');
        const again = flags.file === '-' ? '<file>' : flags.file;
        cli.out.say(`${counted(plan.changes.length)}. Apply: gpuaas admin site apply -f ${again} --hash ${plan.hash}`);
      },
    }),
    command({
      name: 'apply',
      summary: 'Make the site as the file says; refused if the site has changed since the plan',
      flags: {
        ...fileFlags,
        hash: text('Hash of the reviewed plan (default on a terminal: review the plan now)', 'hash'),
        ...keyFlags,
      },
      examples: ['gpuaas admin site apply -f site.yaml --hash 5f0c9a1be2d47763'],
      run: async (cli, { flags }) => {
        if (flags.hash === undefined && !cli.interactive)
          throw new UsageError(
            '--hash is required when not interactive.',
            'Get it with: gpuaas admin site plan -f <file>',
          );
        const { site, placed } = await readSite(cli.io, flags.file);
        const client = await cli.client();
        try {
          let hash = flags.hash;
          if (hash === undefined) {
            const plan = await client.adminSitePlan({ body: { site } }, { signal: cli.signal });
            if (plan.changes.length === 0) return cli.out.say(NOTHING);
            show(cli, plan);
            if (!isBlocked(plan)) await cli.confirm(`Apply ${counted(plan.changes.length)}?`, undefined);
            hash = plan.hash;
          }
          const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
          const response = await client.call('adminSiteApply', { body: { site, hash } }, options);
          const count = response.data.changes.length;
          cli.out.done(count === 0 ? NOTHING : `Applied ${counted(count)}.`, response);
        } catch (err) {
          throw placed(err);
        }
      },
    }),
  ],
};
