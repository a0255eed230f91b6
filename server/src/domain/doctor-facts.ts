/** What the checks of the site judge: plain values, read from the database and from dependencies by `services/doctor.ts`. */
import type { PlatformKeyKind } from '@gpuaas/contract';

/** A fact that could not be read, or not in time, has the reason instead. */
export type Fact<T> = Readonly<{ value: T }> | Readonly<{ unknown: string }>;

/** A connection to an address of the configuration. */
export type Reached = Readonly<{ ok: true; duration_ms: number }> | Readonly<{ ok: false; reason: string }>;

export type TlsReached =
  | Readonly<{
      ok: true;
      duration_ms: number;
      ends_at: string /** Why a client would refuse it. */;
      refusal: string | null;
    }>
  | Readonly<{ ok: false; reason: string }>;

export type ListenerCertificateFact =
  | Readonly<{ names: readonly string[]; ends_at: string }>
  | Readonly<{ refusal: string }>;

export type SiteFacts = Readonly<{
  database: Readonly<{
    version: string;
    version_number: number;
    account: string;
    passes_policies: boolean;
    owns_tables: boolean;
    is_production: boolean;
  }>;
  schema: Readonly<{ expected: readonly string[]; applied: readonly string[] }>;
  writable: Readonly<{ is_standby: boolean; is_read_only: boolean; replay_lag_s: number | null }>;
  /** Standbys that stream from this database. The lag is null where this account may not read it. */
  standbys: Readonly<{ count: number; lag_s: number | null }>;
  /** The clock of the database relative to that of this process. */
  clock: Readonly<{ ahead_ms: number; round_trip_ms: number }>;
  issuer: Readonly<{
    url: string;
    is_embedded: boolean;
    clients: readonly string[];
    audience: string;
    reached: (Extract<Reached, { ok: true }> & Readonly<{ keys: number }>) | Extract<Reached, { ok: false }> | null;
  }>;
  platform_keys: Readonly<{
    keys: readonly Readonly<{ kind: PlatformKeyKind; version: number; state: string; state_age_s: number }>[];
    holders: readonly Readonly<{ kind: PlatformKeyKind; service: string; versions: readonly number[] }>[];
  }>;
  trust_keys: Readonly<{
    keys: readonly Readonly<{ purpose: string; state: string; state_age_s: number }>[];
    ca_ends_at: string | null;
  }>;
  /** Whether an enrollment token is created only for a host that an operator named. */
  named_hosts: Readonly<{ is_required: boolean; is_production: boolean }>;
  gateway: Readonly<{
    is_running: boolean;
    public_url: string;
    certificate: ListenerCertificateFact | null;
    reached: Reached;
  }>;
  /** Null where the API has no https address. */
  public_tls: Readonly<{ url: string; reached: TlsReached | null }>;
  wildcard_tls: Readonly<{ name: string; reached: TlsReached }> | null;
  /** Null where no server is configured. */
  nats: Reached | null;
  processes: Readonly<{ services: readonly string[]; needs_relay: boolean }>;
  agents: Readonly<{
    server_version: string;
    agents: readonly Readonly<{ name: string; version: string; is_connected: boolean; clock_skew_ms: number }>[];
  }>;
  /** Nodes with GPUs that are not of the model they were added with. */
  gpu_models: Readonly<{ nodes_compared: number; conflicts: readonly string[] }>;
  images: Readonly<{ images: readonly Readonly<{ name: string; nodes_with_it: number }>[]; active_nodes: number }>;
  outbox: Readonly<{ unsent: number; oldest_age_s: number }>;
  sealer: Readonly<{ rows_s: number; heads_s: number }>;
  /** How long the oldest audit row in the database has been due for the archive; null where no directory is set. */
  audit_archive: Readonly<{ lag_s: number; online_days: number }> | null;
  /** The newest restore, and how many nodes wait for an operator since. */
  restore: Readonly<{ newest: Readonly<{ began_at: string; reason: string }> | null; held_nodes: number }>;
  backup: Readonly<{ newest: Readonly<{ taken_at: string; location: string }> | null; max_age_h: number }>;
}>;

export type FactName = keyof SiteFacts;
export type GatheredFacts = { readonly [K in FactName]: Fact<SiteFacts[K]> };
