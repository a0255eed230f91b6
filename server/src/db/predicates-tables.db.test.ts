/**
 * The shared fragments that read other tables, compared with the same rule on values. A common table expression takes the
 * place of each table, so that no constraint excludes a generated row.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DISK_APPROVAL_STATES, NODE_STATES, OPEN_DISK_APPROVAL_STATES, SESSION_STATES } from '@gpuaas/contract';
import { TASK_KINDS } from '@gpuaas/contract/task-kinds';
import { candidateOf, FILTERS, type PlacementRequest, type SchedulerNode } from '@gpuaas/scheduler';
import fc from 'fast-check';
import { type TestDatabase, testDatabase } from '../../test/database.ts';
import { priceAt, SWITCHED_ON, skuAvailability } from '../domain/catalog.ts';
import { CLOCK_STEP_MAX_MS } from '../domain/clock-guard.ts';
import { imageDefault } from '../domain/image-default.ts';
import { COMPARED_WITHIN_S } from '../domain/restore.ts';
import { LIVE_SESSION_STATES } from '../domain/session.ts';
import { HELD_TASK_KINDS, isTaskUndone, UNSTARTED_TASK_STATES } from '../domain/task.ts';
import { PLATFORM } from './client.ts';
import {
  CLOCK_TRUSTED,
  claimCounts,
  claimReachesDisk,
  DISK_OPEN,
  databaseName,
  deviceIsHeldElsewhere,
  HEADS_COMPARED,
  imageIsAvailable,
  imageIsDefault,
  isInProject,
  launchKeyCounts,
  regionHasHost,
  SESSION_LIVE,
  skuHasDefaultImage,
  skuHasImage,
  skuHasVmProfile,
  skuIsOpen,
  slotIsProven,
  TASK_UNDONE,
  TASK_UNSTARTED,
  takesLaunches,
  taskIsHeld,
  taskIsHeldByRestore,
  taskIsLate,
  unapprovedDiskCount,
  unapprovedDisks,
} from './predicates.ts';

type Tables = Readonly<Record<string, Readonly<{ columns: string; rows: readonly object[] }>>>;

const RUNS = 250;
/** A rule that is nearly always one of true and false is not tested. */
const SEEN_MIN = 20;
const DAYS = ['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04'].map((day) => `${day}T00:00:00Z`);
const day = fc.constantFrom(...DAYS);
/** A time so many seconds ago. */
const ago = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString();
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 2 });
const rarely = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
const mostly = <T, U>(usual: T, other: U) => fc.constantFrom(usual, usual, usual, usual, other);

describe('a shared predicate over other tables', () => {
  let database: TestDatabase;
  before(async () => {
    database = await testDatabase();
  });
  after(() => database.drop());

  /** The value of `select` with `tables` in place of those of the database. */
  const evaluate = (tables: Tables, select: string): Promise<unknown> => {
    const names = Object.keys(tables);
    const parts = names.map(
      (name, at) =>
        `${name} as (select x.* from jsonb_to_recordset($${at + 1}::jsonb) as x (${tables[name]?.columns ?? ''}))`,
    );
    return database.database.read(PLATFORM, async (reader) => {
      const found = await reader.query<{ value: unknown }>(
        `with ${parts.join(', ')} select (${select}) as value`,
        names.map((name) => JSON.stringify(tables[name]?.rows ?? [])),
      );
      return found.rows[0]?.value;
    });
  };

  const holds = async <World>(
    world: fc.Arbitrary<World>,
    tables: (world: World) => Tables,
    select: string,
    expected: (world: World) => boolean,
  ): Promise<void> => {
    const seen = { true: 0, false: 0 };
    await fc.assert(
      fc.asyncProperty(world, async (one) => {
        const wanted = expected(one);
        assert.equal(await evaluate(tables(one), select), wanted);
        seen[`${wanted}`]++;
      }),
      { numRuns: RUNS },
    );
    assert.ok(seen.true >= SEEN_MIN && seen.false >= SEEN_MIN, JSON.stringify(seen));
  };

  it('knows the states of tasks, sessions and data disks that the domain and the contract list', async () => {
    const within = (list: readonly string[]) => (state: string) => list.includes(state);
    const cases: readonly (readonly [string, readonly string[], (state: string) => boolean])[] = [
      [TASK_UNSTARTED, ['queued', 'dispatched', 'running', 'completed', 'unknown'], within(UNSTARTED_TASK_STATES)],
      [TASK_UNDONE, ['queued', 'running', 'completed', 'failed', 'expired', 'unknown', 'cancelled'], isTaskUndone],
      [SESSION_LIVE, SESSION_STATES, within(LIVE_SESSION_STATES)],
      [DISK_OPEN, DISK_APPROVAL_STATES, within(OPEN_DISK_APPROVAL_STATES)],
    ];
    for (const [fragment, states, isIn] of cases)
      for (const state of states)
        assert.equal(
          await evaluate(
            { one: { columns: 'state text', rows: [{ state }] } },
            `select one.state ${fragment} from one`,
          ),
          isIn(state),
          `${state} ${fragment}`,
        );
  });

  it('ends a task by its time only while the clock is trusted', async () => {
    // Seconds from now, never within the time that a query may take of a limit.
    const off = fc.constantFrom(-3600, -60, 60, 3600);
    const step = CLOCK_STEP_MAX_MS / 1000;
    const world = fc.record({
      expires: off,
      seen_ago: fc.constantFrom(0, step - 60, step + 1, 10 * step),
      held: fc.boolean(),
      guard: fc.boolean(),
    });
    type World = typeof world extends fc.Arbitrary<infer T> ? T : never;
    const tables = ({ expires, seen_ago, held, guard }: World): Tables => ({
      t: { columns: 'expires_at timestamptz', rows: [{ expires_at: ago(-expires) }] },
      clock_guard: {
        columns: 'hold_since timestamptz, seen_at timestamptz',
        rows: guard ? [{ hold_since: held ? ago(0) : null, seen_at: ago(seen_ago) }] : [],
      },
    });
    const isTrusted = ({ seen_ago, held, guard }: World): boolean => !guard || (!held && seen_ago < step);
    await holds(world, tables, `select ${CLOCK_TRUSTED} from t`, isTrusted);
    await holds(world, tables, `select ${taskIsLate('t')} from t`, (one) => one.expires < 0 && isTrusted(one));
  });

  const SEALER = 'compared_in text, compared_at timestamptz, tableoid text';
  const nameOf = (tableoid: string) =>
    evaluate(
      { audit_sealer: { columns: SEALER, rows: [{ tableoid }] } },
      `select ${databaseName('s')} from audit_sealer s`,
    );

  it('names a database by its server, itself and the table of its sealer', async (t) => {
    const oid = fc.constantFrom('1', '2');
    await holds(
      fc.record({ one: oid, two: oid }),
      ({ one, two }) => ({
        a: { columns: SEALER, rows: [{ tableoid: one }] },
        b: { columns: SEALER, rows: [{ tableoid: two }] },
      }),
      `select ${databaseName('a')} = ${databaseName('b')} from a, b`,
      ({ one, two }) => one === two,
    );
    const other = await testDatabase(t);
    const { rows } = await other.database.read(PLATFORM, (reader) =>
      reader.query<{ name: string }>(`select ${databaseName('s')} as name from (select '1' as tableoid) s`),
    );
    assert.notEqual(rows[0]?.name, await nameOf('1'));
  });

  it('holds a task of a held kind for a held node, and for any node while the heads were not compared', async () => {
    const name = await nameOf('1');
    const world = fc.record({
      kind: fc.oneof(fc.constantFrom(...TASK_KINDS), fc.constantFrom(...HELD_TASK_KINDS)),
      is_node_held: fc.boolean(),
      // Null: never compared. Undefined: the sealer has not begun.
      compared_in: fc.constantFrom(name, name, name, 'another database', null, undefined),
      compared_ago: fc.constantFrom(0, COMPARED_WITHIN_S - 60, COMPARED_WITHIN_S + 1),
    });
    type World = typeof world extends fc.Arbitrary<infer T> ? T : never;
    const tables = ({ kind, is_node_held, compared_in, compared_ago }: World): Tables => ({
      t: { columns: 'kind text, node_id text', rows: [{ kind, node_id: 'nod_1' }] },
      nodes: {
        columns: 'id text, restore_hold_id text',
        rows: [
          { id: 'nod_1', restore_hold_id: is_node_held ? 'rst_1' : null },
          { id: 'nod_2', restore_hold_id: 'rst_1' },
        ],
      },
      audit_sealer: {
        columns: SEALER,
        rows:
          compared_in === undefined
            ? []
            : [{ compared_in, tableoid: '1', compared_at: compared_in && ago(compared_ago) }],
      },
    });
    const isCompared = (one: World): boolean => one.compared_in === name && one.compared_ago < COMPARED_WITHIN_S;
    const isHeldKind = ({ kind }: World): boolean => HELD_TASK_KINDS.includes(kind);
    await holds(world, tables, `select ${HEADS_COMPARED} from t`, isCompared);
    await holds(
      world,
      tables,
      `select ${taskIsHeldByRestore('t')} from t`,
      (one) => isHeldKind(one) && one.is_node_held,
    );
    await holds(
      world,
      tables,
      `select ${taskIsHeld('t')} from t`,
      (one) => isHeldKind(one) && (one.is_node_held || !isCompared(one)),
    );
  });

  it('takes launches on a node exactly when the scheduler’s rules of its state and its GPUs do', () => {
    const rules = FILTERS.filter(({ name }) => name === 'node_state' || name === 'gpu_model');
    assert.equal(rules.length, 2);
    return holds(
      fc.record({
        state: fc.oneof(fc.constant('active' as const), fc.constantFrom(...NODE_STATES)),
        gpu_model_conflict: fc.constantFrom(null, null, 'Discovery found 8 H100 SXM.'),
      }),
      (node) => ({ n: { columns: 'state text, gpu_model_conflict text', rows: [node] } }),
      `select ${takesLaunches('n')} from n`,
      ({ state, gpu_model_conflict }) => {
        const node = { state, has_other_gpus: gpu_model_conflict !== null } as unknown as SchedulerNode;
        return rules.every(({ reject }) => reject(candidateOf(node), {} as PlacementRequest) === null);
      },
    );
  });

  const IMAGES = ['debian', 'ubuntu'];
  const REGIONS = ['north', 'south'];
  const catalog = fc.record({
    capacity_shape: fc.constantFrom('baremetal', 'gpu_slice', 'gpu_slice', 'gpu_slice'),
    images: fc.tuple(
      ...IMAGES.map((name) =>
        fc.record({
          name: fc.constant(name),
          retired_at: rarely(day),
          channel: mostly('stable' as const, 'candidate' as const),
          trust: mostly('verified' as const, 'unverified' as const),
          is_of_sku: fc.boolean(),
          versions: fc.array(fc.record({ retired_at: rarely(day) }), { maxLength: 2 }),
        }),
      ),
    ),
    regions: fc.tuple(
      ...REGIONS.map((name) => fc.record({ name: fc.constant(name), enabled: fc.boolean(), retired_at: rarely(day) })),
    ),
    availability: fc.array(
      fc.record({
        image_name: fc.constantFrom(...IMAGES),
        digest: fc.constantFrom('0', '1'),
        region_name: fc.constantFrom(...REGIONS),
        available_since: fc.option(day, { nil: null, freq: 4 }),
      }),
      { minLength: 6, maxLength: 10 },
    ),
  });
  type Catalog = typeof catalog extends fc.Arbitrary<infer T> ? T : never;
  const catalogTables = ({ capacity_shape, images, regions, availability }: Catalog): Tables => {
    const IMAGE = 'name text, retired_at timestamptz, channel text, trust text';
    const VERSION = 'image_name text, digest text, retired_at timestamptz';
    const versions = images.flatMap((image) =>
      image.versions.map((one, at) => ({ ...one, image_name: image.name, digest: `${at}` })),
    );
    return {
      k: { columns: 'name text, capacity_shape text', rows: [{ name: 'h200', capacity_shape }] },
      i: { columns: IMAGE, rows: images.slice(0, 1) },
      v: { columns: VERSION, rows: [{ image_name: 'debian', digest: '0' }] },
      os_images: { columns: IMAGE, rows: images },
      os_image_versions: { columns: VERSION, rows: versions },
      os_image_skus: {
        columns: 'image_name text, sku_name text',
        rows: images.map((one) => ({ image_name: one.name, sku_name: one.is_of_sku ? 'h200' : 'b200' })),
      },
      os_image_availability: {
        columns: 'image_name text, digest text, region_name text, available_since timestamptz',
        rows: availability,
      },
      regions: { columns: 'name text, enabled boolean, retired_at timestamptz', rows: regions },
    };
  };
  const canFetch = ({ availability }: Catalog, image: string, digest: string, region: string): boolean =>
    availability.some(
      (one) =>
        one.image_name === image && one.digest === digest && one.region_name === region && one.available_since !== null,
    );
  /** By the domain, of the regions that are named. */
  const defaultRegions = (world: Catalog, image: Catalog['images'][number], regions: readonly string[]): string[] =>
    imageDefault({
      name: image.name,
      channel: image.channel,
      trust: image.trust,
      enabled: image.retired_at === null && image.versions.some(({ retired_at }) => retired_at === null),
      regions: regions.map((region_name) => ({
        region_name,
        is_available: image.versions.some(
          ({ retired_at }, at) => retired_at === null && canFetch(world, image.name, `${at}`, region_name),
        ),
        ...{ has_host: true, failure: null, node_name: null },
      })),
    }).default_regions;

  it('lets an image be fetched, and be the default of a region, exactly when the domain does', async () => {
    await holds(catalog, catalogTables, `select ${imageIsAvailable('v', "'north'")} from v`, (world) =>
      canFetch(world, 'debian', '0', 'north'),
    );
    await holds(
      catalog,
      catalogTables,
      `select ${imageIsDefault('i', "'north'")} from i`,
      (world) => world.images[0] !== undefined && defaultRegions(world, world.images[0], ['north']).length > 0,
    );
  });

  it('finds an image, and a default image in an enabled region, for a SKU exactly when the domain does', async () => {
    const isWhole = ({ capacity_shape }: Catalog): boolean => capacity_shape === 'baremetal';
    await holds(
      catalog,
      catalogTables,
      `select ${skuHasImage('k')} from k`,
      (world) =>
        isWhole(world) ||
        world.images.some(
          (one) =>
            one.is_of_sku && one.retired_at === null && one.versions.some(({ retired_at }) => retired_at === null),
        ),
    );
    await holds(catalog, catalogTables, `select ${skuHasDefaultImage('k')} from k`, (world) => {
      const open = world.regions.flatMap((one) => (one.enabled && one.retired_at === null ? [one.name] : []));
      return isWhole(world) || world.images.some((one) => one.is_of_sku && defaultRegions(world, one, open).length > 0);
    });
  });

  it('finds a VM profile in use for a SKU of slices, and needs none for bare metal', () =>
    holds(
      fc.record({
        capacity_shape: fc.constantFrom('baremetal', 'gpu_slice', 'gpu_slice'),
        profiles: fc.array(fc.record({ sku_name: fc.constantFrom('h200', 'b200'), retired_at: orNull(day) }), {
          maxLength: 2,
        }),
      }),
      ({ capacity_shape, profiles }) => ({
        k: { columns: 'name text, capacity_shape text', rows: [{ name: 'h200', capacity_shape }] },
        sku_vm_profiles: { columns: 'sku_name text, retired_at timestamptz', rows: profiles },
      }),
      `select ${skuHasVmProfile('k')} from k`,
      ({ capacity_shape, profiles }) =>
        capacity_shape === 'baremetal' ||
        profiles.some(({ sku_name, retired_at }) => sku_name === 'h200' && retired_at === null),
    ));

  it('has a host in a region exactly when one of its nodes is active', () =>
    holds(
      fc.array(
        fc.record({
          region_name: fc.constantFrom(...REGIONS),
          state: fc.oneof(fc.constant('active'), fc.constantFrom(...NODE_STATES)),
        }),
        { maxLength: 2 },
      ),
      (nodes) => ({ nodes: { columns: 'region_name text, state text', rows: nodes } }),
      `select ${regionHasHost("'north'")}`,
      (nodes) => nodes.some(({ region_name, state }) => region_name === 'north' && state === 'active'),
    ));

  it('lets a claim reach a disk of its whole node, of an ended decision only where it is older than the end', () =>
    holds(
      fc.record({
        claim: fc.record({
          node_id: mostly('nod_a', 'nod_b'),
          claim_kind: mostly('node_exclusive', 'slot'),
          created_at: day,
        }),
        disk: fc.record({
          node_id: fc.constant('nod_a'),
          state: fc.oneof(fc.constant('revoked'), fc.constantFrom(...DISK_APPROVAL_STATES)),
          state_since: day,
        }),
      }),
      ({ claim, disk }) => ({
        c: { columns: 'node_id text, claim_kind text, created_at timestamptz', rows: [claim] },
        d: { columns: 'node_id text, state text, state_since timestamptz', rows: [disk] },
      }),
      `select ${claimReachesDisk('c', 'd')} from c, d`,
      ({ claim, disk }) =>
        claim.node_id === disk.node_id &&
        claim.claim_kind === 'node_exclusive' &&
        (disk.state !== 'revoked' || claim.created_at < disk.state_since),
    ));

  it('lists the disks of a whole node that no wipe covers and no operator excluded', async () => {
    const SERIALS = ['s1', 's2', 's3'] as const;
    const world = fc.record({
      capacity_mode: mostly('baremetal', 'slice'),
      found: fc.uniqueArray(fc.constantFrom<string | null>(...SERIALS, null), { minLength: 1, maxLength: 3 }),
      data: fc.subarray([...SERIALS], { maxLength: 1 }),
      slots: fc.subarray([...SERIALS], { maxLength: 1 }),
      decisions: fc.uniqueArray(
        fc.record({ serial: fc.constantFrom(...SERIALS), state: fc.constantFrom('approved', ...DISK_APPROVAL_STATES) }),
        { minLength: 1, maxLength: 2, selector: ({ serial }) => serial },
      ),
    });
    type World = typeof world extends fc.Arbitrary<infer T> ? T : never;
    const tables = ({ capacity_mode, found, data, slots, decisions }: World): Tables => ({
      n: {
        columns: 'id text, capacity_mode text, disks_found jsonb, data_disks jsonb',
        rows: [
          {
            ...{ id: 'nod_a', capacity_mode },
            disks_found: found.map((serial, at) => ({ name: `nvme${at}`, serial })),
            data_disks: data.map((serial) => ({ serial })),
          },
        ],
      },
      node_resource_slots: {
        columns: 'node_id text, nvme_serial text',
        rows: slots.map((nvme_serial) => ({ node_id: 'nod_a', nvme_serial })),
      },
      disk_ownerships: {
        columns: 'node_id text, serial text, state text',
        rows: decisions.map((one) => ({ node_id: 'nod_a', ...one })),
      },
    });
    const stateOf = ({ decisions }: World, serial: string) => decisions.find((one) => one.serial === serial)?.state;
    const uncovered = (one: World) =>
      one.capacity_mode === 'slice'
        ? []
        : one.found.filter(
            (serial) =>
              serial === null ||
              !(
                one.data.includes(serial as never) ||
                one.slots.includes(serial as never) ||
                stateOf(one, serial) === 'excluded'
              ),
          );
    await holds(world, tables, `select ${unapprovedDiskCount('n')} > 0 from n`, (one) => uncovered(one).length > 0);
    const isPending = (one: World, serial: string | null) =>
      serial !== null && (OPEN_DISK_APPROVAL_STATES as readonly string[]).includes(stateOf(one, serial) ?? '');
    await holds(
      world,
      tables,
      `select exists (select from json_array_elements(${unapprovedDisks('n')}) x where (x ->> 'is_wipe_pending')::boolean) from n`,
      (one) => uncovered(one).some((serial) => isPending(one, serial)),
    );
  });

  it('lets a SKU be launched exactly when it is live, enabled and the domain finds no blocker', () => {
    const price = fc.record({
      valid_from: day,
      gpu_hourly_price_minor: fc.nat({ max: 3 }),
      cancelled_at: rarely(day),
      ended_at: rarely(day),
    });
    return holds(
      fc.record({
        enabled: fc.constantFrom(true, true, true, false),
        retired_at: rarely(day),
        capacity_shape: fc.constantFrom('baremetal', 'gpu_slice'),
        image: fc.record({ retired_at: rarely(day), version_retired_at: rarely(day), is_of_sku: fc.boolean() }),
        profile: fc.record({ retired_at: rarely(day), is_of_sku: fc.constantFrom(true, true, false) }),
        prices: fc.uniqueArray(price, { minLength: 1, maxLength: 3, selector: ({ valid_from }) => valid_from }),
      }),
      ({ enabled, retired_at, capacity_shape, image, profile, prices }) => ({
        k: {
          columns: 'name text, enabled boolean, retired_at timestamptz, capacity_shape text',
          rows: [{ name: 'h200', enabled, retired_at, capacity_shape }],
        },
        os_image_skus: {
          columns: 'image_name text, sku_name text',
          rows: [{ image_name: 'debian', sku_name: image.is_of_sku ? 'h200' : 'b200' }],
        },
        os_images: {
          columns: 'name text, retired_at timestamptz',
          rows: [{ name: 'debian', retired_at: image.retired_at }],
        },
        os_image_versions: {
          columns: 'image_name text, retired_at timestamptz',
          rows: [{ image_name: 'debian', retired_at: image.version_retired_at }],
        },
        sku_vm_profiles: {
          columns: 'sku_name text, retired_at timestamptz',
          rows: [{ sku_name: profile.is_of_sku ? 'h200' : 'b200', retired_at: profile.retired_at }],
        },
        sku_prices: {
          columns: `id text, sku_name text, valid_from timestamptz, gpu_hourly_price_minor integer, currency text,
            cancelled_at timestamptz, ended_at timestamptz`,
          rows: prices.map((one, at) => ({ id: `prc_${at}`, sku_name: 'h200', currency: 'USD', ...one })),
        },
      }),
      `select ${skuIsOpen('k')} from k`,
      ({ enabled, retired_at, capacity_shape, image, profile, prices }) => {
        const current = priceAt(
          prices.map((one, at) => ({ id: `prc_${at}`, ...one })),
          Date.now(),
        );
        const has_vm_profile = capacity_shape === 'baremetal' || (profile.is_of_sku && profile.retired_at === null);
        const has_image =
          capacity_shape === 'baremetal' ||
          (image.is_of_sku && image.retired_at === null && image.version_retired_at === null);
        return (
          retired_at === null &&
          skuAvailability({
            ...(enabled ? SWITCHED_ON : { enabled, disabled_reason: 'Sold out.' }),
            ...{ gpu_hourly_price_minor: current?.gpu_hourly_price_minor ?? null, has_vm_profile, has_image },
            has_default_image: true,
          }).enabled
        );
      },
    );
  });

  it('counts a claim towards quota only while it is live and on the current node of its allocation', () =>
    holds(
      fc.record({ released_at: orNull(day), move_id: orNull(fc.constant('mov_1')) }),
      (claim) => ({ c: { columns: 'released_at timestamptz, move_id text', rows: [claim] } }),
      `select ${claimCounts('c')} from c`,
      ({ released_at, move_id }) => released_at === null && move_id === null,
    ));

  const people = fc.record({
    state: fc.constantFrom('active', 'active', 'disabled'),
    role: fc.constantFrom(null, 'owner', 'admin', 'member', 'member'),
    role_elsewhere: fc.constantFrom(null, 'owner'),
    project: fc.constantFrom(null, 'prj_1', 'prj_2'),
  });
  const memberships = ({
    state,
    role,
    role_elsewhere,
    project,
  }: typeof people extends fc.Arbitrary<infer T> ? T : never) => ({
    u: { columns: 'id text, state text', rows: [{ id: 'usr_1', state }] },
    a: { columns: 'organization_id text, project_id text', rows: [{ organization_id: 'org_1', project_id: 'prj_1' }] },
    tenant_memberships: {
      columns: 'organization_id text, user_id text, role text',
      rows: [
        ...(role === null ? [] : [{ organization_id: 'org_1', user_id: 'usr_1', role }]),
        ...(role_elsewhere === null ? [] : [{ organization_id: 'org_2', user_id: 'usr_1', role: role_elsewhere }]),
        { organization_id: 'org_1', user_id: 'usr_2', role: 'owner' },
      ],
    },
    project_memberships: {
      columns: 'project_id text, user_id text',
      rows: [
        ...(project === null ? [] : [{ project_id: project, user_id: 'usr_1' }]),
        { project_id: 'prj_1', user_id: 'usr_2' },
      ],
    },
  });
  const reaches = ({ role, project }: { role: string | null; project: string | null }): boolean =>
    role !== null && (role !== 'member' || project === 'prj_1');

  it('finds a user in a project by a role in its organization, of plain members only by one in the project', () =>
    holds(people, memberships, `select ${isInProject('u', 'a')} from u, a`, reaches));

  it('lets a launch key open an allocation while its user is active and in the project', () =>
    holds(
      people,
      memberships,
      `select ${launchKeyCounts('u', 'a')} from u, a`,
      (one) => one.state === 'active' && reaches(one),
    ));

  const slot = fc.record({
    id: fc.constantFrom('slt_1', 'slt_2', 'slt_3'),
    node_id: fc.constantFrom('nod_1', 'nod_2'),
    nvme_serial: fc.constantFrom(null, 'S1', 'S2'),
    gpu_uuid: fc.constantFrom(null, 'G1', 'G2'),
    status: fc.constantFrom('available', 'available', 'in_use', 'quarantined'),
    last_claimed_at: orNull(day),
    wiped_at: fc.option(day, { nil: null, freq: 5 }),
  });
  const disk = fc.record({
    node_id: fc.constantFrom('nod_1', 'nod_2'),
    serial: fc.constantFrom('S1', 'S2'),
    state: fc.constantFrom('owned', 'excluded', 'revoked'),
    state_since: day,
  });
  const claim = fc.record({
    node_id: fc.constantFrom('nod_1', 'nod_2'),
    claim_kind: fc.constantFrom('node_exclusive', 'node_exclusive', 'slot'),
    created_at: day,
    released_at: orNull(day),
  });
  const devices = fc.record({
    own: slot.map((one) => ({ ...one, id: 'slt_1' })),
    others: fc.array(slot, { minLength: 1, maxLength: 4 }),
    disks: fc.array(disk, { minLength: 1, maxLength: 3 }),
    claims: fc.array(claim, { minLength: 1, maxLength: 3 }),
  });
  type Devices = typeof devices extends fc.Arbitrary<infer T> ? T : never;
  const SLOT = `id text, node_id text, nvme_serial text, gpu_uuid text, status text, last_claimed_at timestamptz, wiped_at timestamptz`;
  const tablesOf = ({ own, others, disks, claims }: Devices): Tables => ({
    s: { columns: SLOT, rows: [own] },
    node_resource_slots: { columns: SLOT, rows: [own, ...others] },
    disk_ownerships: {
      columns: 'node_id text, serial text, state text, state_since timestamptz',
      rows: disks,
    },
    allocation_resource_claims: {
      columns: 'node_id text, claim_kind text, created_at timestamptz, released_at timestamptz',
      rows: claims,
    },
  });
  /** Other slots with the disk or the GPU, and claims on whole nodes that reached the disk, wiped or excluded. */
  const usesOf = ({ own, others, disks, claims }: Devices) => ({
    slots: others.filter(
      (one) =>
        one.id !== own.id &&
        ((one.nvme_serial !== null && one.nvme_serial === own.nvme_serial) ||
          (one.gpu_uuid !== null && one.gpu_uuid === own.gpu_uuid)),
    ),
    nodes: disks
      .filter(({ serial }) => serial === own.nvme_serial)
      .flatMap((held) =>
        claims
          .filter(
            (one) =>
              one.claim_kind === 'node_exclusive' &&
              one.node_id === held.node_id &&
              (held.state !== 'revoked' || one.created_at < held.state_since),
          )
          .map((one) => ({ ...one, isElsewhere: held.node_id !== own.node_id })),
      ),
  });
  const isHeldElsewhere = (world: Devices): boolean => {
    const { slots, nodes } = usesOf(world);
    return (
      slots.some(({ status }) => status === 'in_use') ||
      nodes.some(({ isElsewhere, released_at }) => isElsewhere && released_at === null)
    );
  };

  it('finds a device of a slot that an allocation holds elsewhere', () =>
    holds(devices, tablesOf, `select ${deviceIsHeldElsewhere('s')} from s`, isHeldElsewhere));

  it('accepts the wipe of a slot only if no allocation had its disk or GPU since', () =>
    holds(devices, tablesOf, `select ${slotIsProven('s')} from s`, (world) => {
      const { own } = world;
      const { slots, nodes } = usesOf(world);
      if (own.wiped_at === null || isHeldElsewhere(world)) return false;
      const isLater = (time: string | null): boolean => time !== null && own.wiped_at !== null && time > own.wiped_at;
      return !slots.some((one) => isLater(one.last_claimed_at)) && !nodes.some((one) => isLater(one.created_at));
    }));
});
