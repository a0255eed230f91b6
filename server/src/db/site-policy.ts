/** What operators decided for the whole site: one row, which the migration inserts. */
import type { Reader, Tx } from './client.ts';
import { statement } from './statement.ts';
import type { SitePolicy } from './types.gen.ts';

export type SitePolicyRow = Readonly<Omit<SitePolicy, 'is_only'>>;
export type SitePolicySettings = Readonly<
  Pick<SitePolicy, 'sign_up' | 'default_gpu_limit' | 'contact'> & { mail_domains: readonly string[] }
>;

const POLICY = 'sign_up, mail_domains, default_gpu_limit, contact, version, updated_at';

export const getSitePolicy = async (reader: Reader): Promise<SitePolicyRow> => {
  const row = (await reader.query<SitePolicyRow>(`select ${POLICY} from site_policy`)).rows[0];
  if (row === undefined) throw new Error('The table site_policy has no row; its migration inserts it.');
  return row;
};

const UPDATE_SITE_POLICY = statement(
  {
    version: 'integer',
    sign_up: 'text',
    mail_domains: 'text[]',
    default_gpu_limit: 'integer | null',
    contact: 'text | null',
  },
  `update site_policy set sign_up = :sign_up, mail_domains = :mail_domains, default_gpu_limit = :default_gpu_limit,
     contact = :contact, version = version + 1, updated_at = clock_timestamp()
   where version = :version returning ${POLICY}`,
);

/** Undefined when the version differs. */
export const updateSitePolicy = async (
  tx: Tx,
  version: number,
  settings: SitePolicySettings,
): Promise<SitePolicyRow | undefined> =>
  (await UPDATE_SITE_POLICY.query<SitePolicyRow>(tx, { version, ...settings })).rows[0];
