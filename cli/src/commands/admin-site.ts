import { siteText } from '@gpuaas/sdk/site-file';
import { command, type Group, required, text } from '../command.ts';
import { UsageError } from '../exit.ts';
import { keyFlags } from '../flags.ts';
import { applyFile, planFile } from '../site-plan.ts';

const fileFlags = { file: { ...required(text('Site file, or - for standard input', 'file')), short: 'f' } } as const;

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
        const { url } = await cli.settings();
        // A site file in both forms: YAML also into a pipe.
        cli.io.stdout.write(cli.out.jsonAsked ? `${JSON.stringify(site, null, 2)}\n` : siteText(site, url));
      },
    }),
    command({
      name: 'plan',
      summary: 'Show what applying a site file would change, and the hash to apply it with',
      flags: fileFlags,
      examples: ['gpuaas admin site plan -f site.yaml'],
      run: (cli, { flags }) => planFile(cli, flags.file),
    }),
    command({
      name: 'apply',
      summary: 'Apply a reviewed plan of a site file; refused if the site changed since the plan',
      flags: {
        ...fileFlags,
        hash: text('Hash of the reviewed plan (default on a terminal: review the plan now)', 'hash'),
        ...keyFlags,
      },
      examples: ['gpuaas admin site apply -f site.yaml --hash 5f0c9a1be2d47763'],
      run: async (cli, { flags }) => {
        const { file, hash, idempotencyKey } = flags;
        if (hash === undefined && !cli.interactive)
          throw new UsageError(
            '--hash is required when not interactive.',
            `Get it with: gpuaas admin site plan -f ${file}`,
          );
        const agree = (question: string) => cli.confirm(question, undefined);
        await applyFile(cli, { file, hash, idempotencyKey, agree });
      },
    }),
  ],
};
