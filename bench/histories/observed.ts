/** What the tenants of a history received, in the order of receipt. */
import type { BaseTenant } from './base.ts';
import type { Followed } from './stream.ts';
import type { Reply } from './world.ts';

export type Launch = {
  readonly tenant: BaseTenant;
  readonly project_id: string;
  readonly name: string;
  readonly key: string;
  readonly gpu_count: number;
  readonly body: object;
  reply: Reply | null;
};

/** A state in a response. `began` and `ended` order it among other requests. */
export type Sighting = Readonly<{
  id: string;
  state: string;
  power: string | null;
  version: number;
  began: number;
  ended: number;
}>;
export type SeenEvent = Readonly<{
  id: string;
  type: string;
  subject: string;
  data: Readonly<Record<string, unknown>>;
}>;
export type Change = Readonly<{ what: string; correlation_id: string; status: number }>;

/** A launch or another change of an allocation, and what became of it. `gpus`: what it asked for. */
export type Decision = Readonly<{
  what: string;
  kind: 'launch' | 'release' | 'other';
  tenant: string;
  project_id: string;
  target: string | null;
  gpus: number;
  status: number;
  code: string | null;
  began: number;
}>;

export type Observed = {
  /** Violations found while playing. */
  readonly wrong: string[];
  readonly launches: Launch[];
  readonly sightings: Sighting[];
  readonly changes: Change[];
  readonly events: Map<string, readonly SeenEvent[]>;
  readonly projects: Map<string, string[]>;
  readonly grants: {
    allocation_id: string;
    project_id: string;
    id: string;
    tenant: BaseTenant;
    is_revoked: boolean;
  }[];
  /** The event streams, and the last event before each. */
  readonly streams: { followed: Followed; last: string }[];
  readonly decisions: Decision[];
  /** Of projects, also those whose response was lost. */
  readonly deletions: Readonly<{ project_id: string; status: number; ended: number }>[];
  /** Every limit that a tenant may have had; null is none. */
  readonly limits: Map<string, (number | null)[]>;
  /** Allocations that may have been protected at some time. */
  readonly protections: Set<string>;
  /** How often each command was accepted, so that a driver whose commands are all refused is noticed. */
  readonly accepted: Map<string, number>;
};

export const createObserved = (tenants: readonly BaseTenant[]): Observed => ({
  wrong: [],
  launches: [],
  sightings: [],
  changes: [],
  events: new Map(),
  projects: new Map(tenants.map(({ name, project_id }) => [name, [project_id]])),
  grants: [],
  streams: [],
  decisions: [],
  deletions: [],
  limits: new Map(),
  protections: new Set(),
  accepted: new Map(),
});

export const idOf = (launch: Launch): string | null =>
  launch.reply?.status === 202 ? String(launch.reply.body.id) : null;
