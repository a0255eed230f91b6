/**
 * The context of a request through the layers. Everything a service needs is here or in its arguments: no module holds
 * state, and only the roles wire.
 */
import type { PlatformRole, ProjectRole, TenantRole } from '@gpuaas/contract';
import type { EventData, EventType } from '@gpuaas/contract/events';
import type { Clock, Log } from '@gpuaas/kit';
import type { Config } from './config.ts';
import type { Database, Reader, Tx } from './db/client.ts';
import type { EventFeed } from './pipeline/event-feed.ts';
import type { Secrets } from './ports/secrets/secrets.ts';

/** The authenticated caller. Roles are at most a few seconds old. */
export type Principal = Readonly<{
  kind: 'user' | 'service_account';
  id: string;
  name: string;
  email: string | null;
  email_verified: boolean;
  platform_role: PlatformRole | null;
  /** Signed in, and an operator has not approved the sign-up: may only read the own account. */
  is_pending: boolean;
  /** organization id -> role */
  tenants: ReadonlyMap<string, TenantRole>;
  /** project id -> role, direct memberships only; tenant roles reach further */
  projects: ReadonlyMap<string, ProjectRole>;
  /** The organization whose audit chain records the principal's own actions: its personal or home organization. */
  audit_organization_id: string | null;
  /** A service account lives in one project. */
  home: Readonly<{ organization_id: string; project_id: string }> | null;
  credential: Readonly<{
    kind: 'oidc' | 'web_session' | 'api_token' | 'service_account_token';
    id: string | null;
    scopes: readonly string[];
    /** A token may be bound to one project. */
    project_id: string | null;
    expires_at: string | null;
    /** When the user signed in at the issuer (RFC 3339); null if it did not state it, and for tokens of ours. */
    auth_time: string | null;
  }>;
}>;

export type Deps = Readonly<{
  config: Config;
  database: Database;
  clock: Clock;
  log: Log;
  secrets: Secrets;
  events: EventFeed;
}>;

export type Ctx = Readonly<{
  deps: Deps;
  log: Log;
  /** Absent only on public operations. */
  principal: Principal | null;
  correlation_id: string;
  /** The operation's id, which also names its cursors. */
  operation: string;
  source_ip: string;
  user_agent: string;
  /** The organization that bounds the request, from the path or the project in it; null for self and platform. */
  organization_id: string | null;
  project_id: string | null;
}>;

export type ReadCtx = Ctx & Readonly<{ read<T>(fn: (reader: Reader) => Promise<T>): Promise<T> }>;

export type WriteCtx = Ctx &
  Readonly<{
    tx: Tx;
    /** Puts an event into the outbox of this transaction. */
    emit<T extends EventType>(
      type: T,
      event: Readonly<{ subject: string; data: EventData<T>; organization_id?: string; project_id?: string }>,
    ): void;
    /** Sets the target of the audit row (default the last id of the path, or the id of the response). */
    target(kind: string, id: string): void;
    /** Facts for the audit row. Never secrets. */
    note(metadata: Readonly<Record<string, unknown>>): void;
    /** Moves the audit row into the chain of the organization that the request turned out to concern. */
    setTarget(organization_id: string, project_id?: string): void;
  }>;
