/** The server as a stage of the shared scenarios: one application for all, an organization and a region for each. */
import { randomUUID } from 'node:crypto';
import { api, LIMIT_NAMES, LIMITS, type LimitValues, type Operation } from '@gpuaas/contract';
import { TASKS } from '@gpuaas/contract/task-kinds';
import { Client } from 'pg';
import type { Person, Place, TestBed } from '../../contract/test/scenarios/scenario.ts';
import { PLATFORM } from '../src/db/client.ts';
import { refreshSummary } from '../src/placement/summary.ts';
import { type Caller, startTestApp, testClock } from './app.ts';
import { haveImages } from './available-images.ts';
import { settle } from './host.ts';
import { aNode } from './placement.ts';
import { urlOf } from './request.ts';
import { CACHE_OVER_MS, must, type User } from './tenants.ts';

const DAY_S = 86_400;
const MANY = 1_000_000;
/** As in the mock: rows are limited as by default, and the rate of requests is not. */
const limits = Object.fromEntries(
  LIMIT_NAMES.map((name) => [name, LIMITS[name].kind === 'rows' ? LIMITS[name].default : MANY]),
) as LimitValues;

const CHANGES_ROLES = /Member|invitationAccept|OrganizationCreate|UserUpdate/;
const userOf = ({ me }: User) => ({ id: String(me.id), name: String(me.name), email: String(me.email) });

type TestLike = Readonly<{ after(fn: () => Promise<void>): void }>;

export const startServerStage = async (t: TestLike): Promise<TestBed> => {
  const clock = testClock();
  const test = await startTestApp(t, { roles: ['gpuaas-api'], limits }, { clock });
  const sql = new Client({ connectionString: test.db.ownerUrl });
  await sql.connect();
  t.after(() => sql.end());
  const operator = await test.admin();
  const stale_operator = await test.admin({ auth_time: Math.floor(Date.now() / 1000) - DAY_S });
  const { database } = test.db;
  let scenes = 0;

  /** Earlier scenes are not offered as alternatives. */
  const newRegion = async (): Promise<string> => {
    const name = `scene-${++scenes}`;
    await sql.query("update regions set enabled = false, disabled_reason = 'The scene is over.' where enabled");
    await sql.query("insert into regions (name, display_name, enabled) values ($1, 'Scene', true)", [name]);
    await haveImages(sql, name);
    return name;
  };

  return {
    newPlace: async (): Promise<Place> => {
      const region_name = await newRegion();
      const [owner, member, viewer, stranger] = await Promise.all(
        ['owner', 'member', 'viewer', 'stranger'].map((name) => test.user(`${name}-${scenes}`)),
      );
      if (!owner || !member || !viewer || !stranger) throw new Error('a scene has four people');
      const made = must(await owner.post('/api/v1/organizations', { name: `scene-${scenes}` }), 201);
      const organization_id = String(made.body.id);
      clock.advance(CACHE_OVER_MS);
      const projects = must(await owner.get(`/api/v1/organizations/${organization_id}/projects`), 200).body.items;
      const project_id = String(projects[0].id);
      for (const [user, role] of [
        [member, 'member'],
        [viewer, 'viewer'],
      ] as const) {
        await sql.query("insert into tenant_memberships (organization_id, user_id, role) values ($1, $2, 'member')", [
          organization_id,
          user.me.id,
        ]);
        await sql.query(
          'insert into project_memberships (project_id, organization_id, user_id, role) values ($1, $2, $3, $4)',
          [project_id, organization_id, user.me.id, role],
        );
      }
      clock.advance(CACHE_OVER_MS);
      let nodes = 0;
      const people: Readonly<Record<Person, Caller>> = { owner, member, viewer, operator, stale_operator, stranger };
      return {
        region_name,
        organization_id,
        project_id,
        users: { owner: userOf(owner), member: userOf(member), viewer: userOf(viewer), stranger: userOf(stranger) },
        ask: async (as, id, { key = randomUUID(), ...parts }) => {
          const operation: Operation = api[id];
          const needsKey = operation.idempotency === 'required' && key !== null;
          const isForm = operation.bodyType !== undefined;
          const body = isForm ? new URLSearchParams(parts.body as Record<string, string>).toString() : parts.body;
          const answer = await people[as].call(operation.method, urlOf(operation, parts), body, {
            ...(isForm ? { 'content-type': operation.bodyType } : {}),
            ...(needsKey ? { 'idempotency-key': key } : {}),
            ...(parts.if_match === undefined ? {} : { 'if-match': `"v${parts.if_match}"` }),
          });
          // Roles are cached for seconds.
          if (CHANGES_ROLES.test(id)) clock.advance(CACHE_OVER_MS);
          return answer;
        },
        addNode: async (capacity_mode) => {
          nodes += 1;
          // The name starts as the tests' hosts find theirs.
          const { id } = await aNode(sql, { name: `node-${region_name}-${nodes}`, region_name, capacity_mode });
          // The hosts of a scene execute their tasks, so their agents have connected.
          await sql.query(
            `insert into node_agents (node_id, last_seen_at, agent_version, boot_id, booted_at, kinds)
             values ($1, clock_timestamp() + interval '1 day', '0.1.0', 'boot', now() - interval '1 hour', $2)`,
            [id, Object.keys(TASKS)],
          );
          await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
          return id;
        },
        settle: async () => void (await settle(database)),
      };
    },
  };
};
