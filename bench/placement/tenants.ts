/** Members with a token each, for requests over HTTP. */
import { mintId } from '@gpuaas/kit';
import { insertApiToken } from '../../server/src/db/api-token.ts';
import { type Database, PLATFORM } from '../../server/src/db/client.ts';
import { insertMembership } from '../../server/src/db/organization.ts';
import { insertUser } from '../../server/src/db/user.ts';
import { mintToken } from '../../server/src/identity/token.ts';
import { TENANTS, type Tenant, tenant } from './fleet.ts';

export type Member = Readonly<{ project_id: string; token: string }>;

const DAY_S = 86_400;

/** One member per tenant (default every tenant of a fleet). */
export const addMembers = (
  database: Database,
  tenants: readonly Tenant[] = Array.from({ length: TENANTS }, (_, n) => tenant(n)),
): Promise<Member[]> =>
  database.write(PLATFORM, async (tx) => {
    const members: Member[] = [];
    for (const { organization_id, project_id } of tenants) {
      const user_id = mintId('usr');
      const { token, hash, prefix } = mintToken('personal');
      await insertUser(tx, {
        id: user_id,
        issuer: 'bench',
        subject: user_id,
        name: 'bench',
        email: null,
        email_verified: false,
        platform_role: null,
        state: 'active',
      });
      await insertMembership(tx, { organization_id, user_id, role: 'owner' });
      await insertApiToken(tx, {
        id: mintId('tok'),
        kind: 'personal',
        user_id,
        service_account_id: null,
        organization_id: null,
        project_id: null,
        name: 'bench',
        token_prefix: prefix,
        token_hash: hash,
        scopes: ['all'],
        expires_in_s: DAY_S,
      });
      members.push({ project_id, token });
    }
    return members;
  });
