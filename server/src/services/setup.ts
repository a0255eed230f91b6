/** The steps of setting up the site, from its data. */
import type { ReadCtx } from '../context.ts';
import { findNewestBackup } from '../db/backup.ts';
import { findSetupFacts, findSignUpFact } from '../db/site-fact.ts';
import { setupSteps } from '../domain/setup.ts';

export const get = async (ctx: ReadCtx) => {
  const { config, clock } = ctx.deps;
  const facts = await ctx.read(async (reader) => ({
    ...(await findSetupFacts(reader)),
    sign_up: await findSignUpFact(reader),
    newest_backup_at: (await findNewestBackup(reader))?.taken_at ?? null,
    issuer: { url: config.oidc.issuer ?? `${config.public_url}/oidc`, is_embedded: config.oidc.issuer === null },
    superadmin_emails: config.superadmin_emails.length,
  }));
  const steps = setupSteps(facts);
  const next = steps.find(({ state }) => state === 'next')?.key ?? null;
  const read_at = clock.now().toISOString();
  const { requires_named_host } = config;
  return { is_complete: next === null, next, read_at, requires_named_host, node_id: facts.newest_node_id, steps };
};
