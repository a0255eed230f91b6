/** Sessions and grants as the gateway and the workflows leave them, for tests that need existing ones. */

import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { mintId } from '@gpuaas/kit';
import { SEALED_TO } from '../src/domain/sealed.ts';
import type { Sql, TestAllocation } from './placement.ts';
import { appSecrets } from './secrets.ts';

/** The output, as asciicast. */
export const RECORDED = [
  { version: 2, width: 80, height: 24, timestamp: 1_790_000_000 },
  [0.1, 'o', 'hello\r\n'],
  [1.25, 'o', '\u001b[31mwörld\u001b[0m'],
] as const;

type SessionFacts = Readonly<{
  kind?: string;
  port?: number;
  state?: string;
  principal_id: string;
  principal_name?: string;
}>;

/** A session in any state; an ended one ended normally. */
export const aSession = async (sql: Sql, allocation: TestAllocation, facts: SessionFacts): Promise<string> => {
  const id = mintId('ses');
  const state = facts.state ?? 'closed';
  const isOver = state === 'closed';
  await sql.query(
    `insert into terminal_sessions (id, organization_id, project_id, allocation_id, node_id, kind, port, is_writable, state,
       principal_id, principal_kind, principal_name, ticket_hash, ticket_expires_at, gateway_url, opened_at, closed_at, end_reason, end_message,
       correlation_id, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, true, $8, $9, 'user', $10, $11, now() + interval '30 seconds', $12, now(), $13, $14, $14, 'test',
       now() + interval '1 hour')`,
    [
      ...[id, allocation.organization_id, allocation.project_id, allocation.id, allocation.node_id],
      ...[
        facts.kind ?? 'terminal',
        facts.port ?? null,
        state,
        facts.principal_id,
        facts.principal_name ?? 'Another user',
      ],
      ...[state === 'ticketed' ? randomBytes(32) : null, state === 'ticketed' ? null : 'wss://gateway.test'],
      ...[isOver ? new Date() : null, isOver ? 'ended' : null],
    ],
  );
  return id;
};

/** An ended recorded terminal, in two parts. */
export const aRecordedSession = async (
  sql: Sql,
  allocation: TestAllocation,
  who: Readonly<{ id: string; name: string }>,
): Promise<string> => {
  const id = await aSession(sql, allocation, { principal_id: who.id, principal_name: who.name });
  await sql.query('update terminal_sessions set is_recorded = true where id = $1', [id]);
  const lines = RECORDED.map((line) => `${JSON.stringify(line)}\n`);
  for (const [part, text] of [lines.slice(0, 2).join(''), lines.slice(2).join('')].entries())
    await sql.query(
      `insert into terminal_recordings (session_id, part, organization_id, sealed_content, keep_until)
       values ($1, $2, $3, $4, now() + interval '1 day')`,
      [id, part, allocation.organization_id, appSecrets.seal(gzipSync(text), SEALED_TO.recording(id, part))],
    );
  return id;
};

/** A web session of a user, without a known cookie. */
export const aWebSession = async (sql: Sql, userId: string, lives = "interval '1 hour'"): Promise<string> => {
  const id = mintId('wse');
  await sql.query(
    `insert into web_sessions (id, user_id, token_hash, user_agent, source_ip, idle_expires_at, expires_at)
     values ($1, $2, $3, 'a browser', '192.0.2.1', clock_timestamp() + ${lives}, clock_timestamp() + ${lives})`,
    [id, userId, randomBytes(32)],
  );
  return id;
};

/** A key installed on the VM. It belongs to its owner's other keys. */
export const aGrant = async (
  sql: Sql,
  allocation: TestAllocation,
  userId: string,
  state: 'pending' | 'installed' | 'failed' | 'revoking' = 'installed',
): Promise<string> => {
  const id = mintId('grt');
  const key = mintId('key');
  const text = `ssh-ed25519 ${randomBytes(48).toString('base64')}`;
  const fingerprint = `SHA256:${randomBytes(32).toString('base64').replace('=', '')}`;
  await sql.query(
    "insert into ssh_keys (id, user_id, name, algorithm, public_key, fingerprint) values ($1, $2, substr($1, 5), 'ssh-ed25519', $3, $4)",
    [key, userId, text, fingerprint],
  );
  await sql.query(
    `insert into allocation_access_grants (id, organization_id, project_id, allocation_id, user_id, user_name, ssh_key_id, public_key,
       fingerprint, state, state_reason, granted_by, correlation_id, installed_at, revoked_at)
     values ($1, $2, $3, $4, $5, 'Another user', $6, $7, $8, $9, $10, $5, 'test', $11, $12)`,
    [
      ...[id, allocation.organization_id, allocation.project_id, allocation.id, userId, key, text, fingerprint, state],
      ...[state === 'failed' ? 'It could not be told.' : null, state === 'installed' ? new Date() : null],
      state === 'revoking' ? new Date() : null,
    ],
  );
  return id;
};
