/**
 * One suite of scenarios for every implementation of the contract. The server runs it on PostgreSQL, the console's mock
 * in memory; a third test runs each scenario on both and compares all responses, so that they cannot differ. A scenario
 * uses only the API: actions of hosts and database operators are behind the stage.
 */
import assert from 'node:assert/strict';
import { api, type Operation, type OperationId } from '@gpuaas/contract';

/**
 * `owner` and `member` and `viewer` belong to the scene's organization and project, `stranger` to neither.
 * `stale_operator` is the operator with yesterday's sign-in.
 */
export type Person = 'owner' | 'member' | 'viewer' | 'operator' | 'stale_operator' | 'stranger';

// biome-ignore lint/suspicious/noExplicitAny: scenarios look into bodies whose shape each stage checks by the contract
export type Json = any;
export type ScenarioResponse = Readonly<{
  status: number;
  body: Json;
  headers: Readonly<Record<string, string | undefined>>;
}>;

export type Parts = Readonly<{
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, unknown>>;
  body?: Readonly<Record<string, unknown>>;
  if_match?: number;
  /** The idempotency key; null sends none (default a new key). */
  key?: string | null;
}>;

export const MEMBERS = ['owner', 'member', 'viewer', 'stranger'] as const;
export type User = Readonly<{ id: string; name: string; email: string }>;

/** The resources of one scenario: its own organization and an empty region. */
export type Place = Readonly<{
  region_name: string;
  organization_id: string;
  project_id: string;
  users: Readonly<Record<(typeof MEMBERS)[number], User>>;
  ask(as: Person, id: OperationId, parts: Parts): Promise<ScenarioResponse>;
  /** A healthy node with eight approved slots. */
  addNode(capacityMode: 'slice' | 'baremetal' | 'flexible'): Promise<string>;
  /** Hosts execute their tasks until none is left. */
  settle(): Promise<void>;
}>;

export type TestBed = Readonly<{ newPlace(): Promise<Place> }>;

export const SLICE_SKU = 'h200-sxm-slice';
export const BAREMETAL_SKU = 'h200-sxm-baremetal-8g';

/** One request and its response. */
export type Recorded = Readonly<{ as: Person; operation: OperationId; status: number; body: Json }>;

export type Scene = Place &
  Readonly<{
    /** The body of a response that must be the operation's success. */
    must(as: Person, id: OperationId, parts?: Parts): Promise<Json>;
    /** The problem of a response that must be refused with this code. */
    refused(code: string, as: Person, id: OperationId, parts?: Parts): Promise<Json>;
    /** The body of a launch (default a slice of one GPU). */
    launch(name: string, over?: Readonly<Record<string, unknown>>): Parts;
    /** An active allocation. */
    active(name: string, over?: Readonly<Record<string, unknown>>): Promise<Readonly<{ id: string; at: Parts }>>;
  }>;

export type Scenario = Readonly<{ name: string; play(scene: Scene): Promise<void> }>;

const statusOf = (id: OperationId): number => (api[id] as Operation).status;

const sceneOf = (place: Place, heard: Recorded[]): Scene => {
  const ask: Place['ask'] = async (as, operation, parts) => {
    const answer = await place.ask(as, operation, parts);
    heard.push({ as, operation, status: answer.status, body: answer.body });
    return answer;
  };
  const must: Scene['must'] = async (as, id, parts = {}) => {
    const { status, body } = await ask(as, id, parts);
    assert.equal(status, statusOf(id), `${id}: ${JSON.stringify(body)}`);
    return body;
  };
  const launch: Scene['launch'] = (name, over = {}) => ({
    params: { project_id: place.project_id },
    body: { sku_name: SLICE_SKU, region_name: place.region_name, gpu_count: 1, name, ...over },
  });
  return {
    ...place,
    ask,
    must,
    launch,
    refused: async (code, as, id, parts = {}) => {
      const { body } = await ask(as, id, parts);
      assert.equal(body.code, code, `${id}: ${JSON.stringify(body)}`);
      return body;
    },
    active: async (name, over) => {
      const { id } = await must('owner', 'allocationCreate', launch(name, over));
      await place.settle();
      const at = { params: { project_id: place.project_id, allocation_id: String(id) } };
      assert.equal((await must('owner', 'allocationGet', at)).state, 'active');
      return { id: String(id), at };
    },
  };
};

/** Runs one scenario and returns its requests and responses. */
export const play = async (
  stage: TestBed,
  scenario: Scenario,
): Promise<Readonly<{ place: Place; heard: Recorded[] }>> => {
  const heard: Recorded[] = [];
  const place = await stage.newPlace();
  await scenario.play(sceneOf(place, heard));
  return { place, heard };
};

export const codesOf = (problem: Json): string[] => problem.reasons.map((reason: { code: string }) => reason.code);

/** Why an action is not offered; null when it is. */
export const actionReason = (body: Json, name: string): string | null => {
  const found = body.actions.find((action: { name: string }) => action.name === name);
  assert.ok(found, `there is an action ${name}`);
  return found.reason;
};
