/** The state of the simulated platform: its rows, its time and its events. */
import { type IdKind, LIMIT_NAMES, LIMITS, type LimitName, type OperationId } from '@gpuaas/contract';
import type { EventData, EventType } from '@gpuaas/contract/events';
import { type Agenda, createAgenda } from './agenda.ts';
import { createMint } from './ids.ts';
import { createRandom, type Random } from './random.ts';
import type * as rows from './rows.ts';

/** Injected faults. */
export type Faults = Readonly<{
  /** Launches fail while the VM boots. */
  launches?: boolean;
  /** Wipes cannot be verified. */
  wipes?: boolean;
  /** An operation fails with this code, or `network` for no response at all. */
  operations?: Readonly<Partial<Record<OperationId, string>>>;
}>;

export type Emitted<T extends EventType> = Readonly<{
  subject: string;
  data: EventData<T>;
  organization_id: string | null;
  project_id: string | null;
  correlation_id: string;
}>;

const createRows = () => ({
  regions: [] as rows.Region[],
  skus: [] as rows.Sku[],
  vmProfiles: [] as rows.VmProfile[],
  prices: [] as rows.Price[],
  pools: [] as rows.Pool[],
  images: [] as rows.OsImage[],
  users: new Map<string, rows.User>(),
  organizations: new Map<string, rows.Organization>(),
  members: [] as rows.Member[],
  invitations: [] as rows.Invitation[],
  projects: new Map<string, rows.Project>(),
  projectMembers: [] as rows.ProjectMember[],
  serviceAccounts: new Map<string, rows.ServiceAccount>(),
  tokens: [] as rows.Token[],
  sshKeys: new Map<string, rows.SshKey>(),
  webSessions: [] as rows.WebSession[],
  policies: new Map<string, rows.AccessPolicy>(),
  quotas: new Map<
    string,
    { organization_id: string; project_id: string | null; limit: number | null; version: number }
  >(),
  quotaRequests: [] as rows.StoredQuotaRequest[],
  signUpRequests: [] as rows.SignUpRequest[],
  groupMappings: [] as rows.GroupMapping[],
  sitePolicy: {
    sign_up: 'open',
    mail_domains: [],
    default_gpu_limit: null,
    contact: null,
    version: 1,
    updated_at: '2026-11-01T09:00:00.000Z',
  } as rows.SitePolicy,
  /** As the server's defaults; a test lowers them. */
  limits: Object.fromEntries(LIMIT_NAMES.map((name) => [name, LIMITS[name].default])) as Record<LimitName, number>,
  allocations: new Map<string, rows.Allocation>(),
  claims: [] as rows.Claim[],
  /** Nodes that are claimed as a whole. */
  exclusive: new Set<string>(),
  usage: [] as rows.UsageRecord[],
  grants: [] as rows.Grant[],
  sessions: new Map<string, rows.Session>(),
  nodes: new Map<string, rows.Node>(),
  slots: new Map<string, rows.Slot>(),
  slotsOf: new Map<string, rows.Slot[]>(),
  tasks: [] as rows.NodeTask[],
  disks: [] as rows.DiskOwnership[],
  proofs: [] as rows.WipeProof[],
  slotOverrides: [] as rows.SlotOverride[],
  runs: new Map<string, rows.Run>(),
  trustKeys: [] as rows.TrustKey[],
  platformKeys: [] as rows.PlatformKey[],
  audit: [] as rows.AuditRow[],
  logs: [] as rows.LogLine[],
  events: [] as rows.KeptEvent[],
  clock: {
    is_held: false,
    checked_at: null,
    held_since: null,
    reason: null,
    jump_ms: null,
    ended_at: null,
    ended_by: null,
    version: 1,
  } as rows.Clock,
  breaker: {
    is_tripped: false,
    tripped_at: null,
    reason: null,
    reset_by: null,
    reset_at: null,
    version: 1,
  } as rows.Breaker,
  /** As the setting of production; a test turns it off. */
  requiresNamedHost: true,
  backups: [] as rows.Backup[],
  restore: null as rows.Restore,
  restoreHeld: new Set<string>(),
});

export type Rows = ReturnType<typeof createRows>;

export type World = Rows &
  Readonly<{
    agenda: Agenda;
    random: Random;
    faults: Faults;
    now(): number;
    /** The time `ms` before now, as the API writes it. */
    ago(ms?: number): string;
    mint(kind: IdKind, atMs?: number): string;
    emit<T extends EventType>(type: T, event: Emitted<T>): void;
    /** Called after each event. */
    listeners: Set<() => void>;
  }>;

const EVENTS_KEPT_MAX = 5_000;

export const createWorld = (options: Readonly<{ clock: () => number; faults: Faults }>): World => {
  const agenda = createAgenda(options.clock);
  const kept = createRows();
  const mint = createMint(options.clock());
  const listeners = new Set<() => void>();
  return {
    ...kept,
    agenda,
    random: createRandom(20_261_115),
    faults: options.faults,
    now: agenda.now,
    ago: (ms = 0) => new Date(agenda.now() - ms).toISOString(),
    mint: (kind, atMs) => mint(kind, atMs ?? agenda.now()),
    listeners,
    emit: (type, event) => {
      kept.events.push({
        specversion: '1.0',
        id: mint('event', agenda.now()),
        type,
        source: '/gpuaas',
        subject: event.subject,
        time: new Date(agenda.now()).toISOString(),
        datacontenttype: 'application/json',
        correlationid: event.correlation_id,
        ...(event.organization_id === null ? {} : { organizationid: event.organization_id }),
        ...(event.project_id === null ? {} : { projectid: event.project_id }),
        data: event.data,
      });
      if (kept.events.length > EVENTS_KEPT_MAX) kept.events.splice(0, kept.events.length - EVENTS_KEPT_MAX);
      for (const listener of listeners) listener();
    },
  };
};
