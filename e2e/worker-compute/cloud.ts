/**
 * The actions of tenants and operators in these tests, through the public API alone, and database reads for internal
 * records: tasks and proofs.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TaskKind } from '@gpuaas/contract/node';
import type { Allocation, Client } from '@gpuaas/sdk';
import { Client as SqlClient } from 'pg';
import { emptyDatabase } from '../../server/test/database.ts';
import { eventually, type Platform, type PlatformOptions, startPlatform } from '../sim/platform.ts';

export const SKU = 'h200-sxm-slice';
export const REGION = 'us-buffalo-1';
/** As small as the guest images of tests. */
export const PROFILE = 'tiny_1g_1c';
const ENDED: readonly Allocation['state'][] = ['failed', 'released', 'release_failed'];
const SLOW_MS = 120_000;

export type TaskRow = Readonly<{
  id: string;
  kind: TaskKind;
  state: string;
  state_reason: string | null;
  attempt: number;
  output: Readonly<Record<string, unknown>> | null;
  created_at: Date;
  finished_at: Date | null;
}>;

export type Cloud = Readonly<{
  platform: Platform;
  client: Client;
  sql: SqlClient;
  project_id: string;
  /** Removed with the cloud. */
  scratch: string;
  addKey(name: string, publicKey: string): Promise<string>;
  launch(
    name: string,
    more?: Readonly<{
      gpu_count?: number;
      ssh_key_ids?: string[];
      image_name?: string;
      storage?: Allocation['storage'];
      user_data?: string;
    }>,
  ): Promise<Allocation>;
  get(id: string): Promise<Allocation>;
  release(id: string): Promise<unknown>;
  reaches(id: string, state: Allocation['state'], withinMs?: number): Promise<Allocation>;
  /** The newest of that kind. */
  task(id: string, kind: TaskKind): Promise<TaskRow | undefined>;
  tasks(id: string): Promise<readonly TaskRow[]>;
  close(): Promise<void>;
}>;

export type CatalogImage = Readonly<{ name: string; digest: string; size_bytes: number; format: 'raw' | 'qcow2' }>;

/** An image of the site, as an operator registers it. */
export const addToCatalog = async (
  client: Client,
  { name, digest, size_bytes, format }: CatalogImage,
): Promise<void> => {
  await client.adminOsImageRegister({
    body: {
      name,
      display_name: name,
      os_family: 'debian',
      os_version: '12',
      digest,
      format,
      size_bytes,
      // Firmware is slow under emulation.
      boot_kind: 'kernel',
      driver_strategy: 'none',
      readiness_checks: [],
      source: 'Debian packages',
      digest_authority: 'the test that made it',
      sku_names: [SKU],
      trust: 'verified',
    },
  });
};

/** A VM size as small as the test guests. */
const addProfiles = async (sql: SqlClient): Promise<void> => {
  await sql.query(
    `insert into sku_vm_profiles (name, sku_name, gpu_count, vcpu_count, memory_mib)
     values ($1, $3, 1, 1, 512), ($2, $3, 2, 1, 512)`,
    [PROFILE, PROFILE.replace('1g', '2g'), SKU],
  );
};

export const startCloud = async (options: Partial<PlatformOptions> = {}): Promise<Cloud> => {
  const undo: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-cloud-'));
    undo.push(() => rmSync(scratch, { recursive: true, force: true }));
    const database_url = await emptyDatabase({ after: (fn) => void undo.push(fn) });
    const platform = await startPlatform({ database_url, dir: scratch, ...options });
    undo.push(platform.stop);
    const sql = new SqlClient({ connectionString: database_url });
    await sql.connect();
    undo.push(() => sql.end());
    await addProfiles(sql);
    const { client } = platform;
    const project_id = (await client.meGet()).projects[0]?.id ?? assert.fail('there is no project');
    const get = (id: string) => client.allocationGet({ params: { project_id, allocation_id: id } });
    const tasks = async (id: string): Promise<readonly TaskRow[]> =>
      (
        await sql.query<TaskRow>(
          `select id, kind, state, state_reason, attempt, output, created_at, finished_at from node_tasks
           where allocation_id = $1 order by id`,
          [id],
        )
      ).rows;
    return {
      platform,
      client,
      sql,
      project_id,
      scratch,
      close,
      get,
      tasks,
      task: async (id, kind) => (await tasks(id)).findLast((task) => task.kind === kind),
      addKey: async (name, public_key) => (await client.sshKeyCreate({ body: { name, public_key } })).id,
      launch: (name, { gpu_count = 1, ...more } = {}) =>
        client.allocationCreate({
          params: { project_id },
          body: {
            name,
            sku_name: SKU,
            region_name: REGION,
            gpu_count,
            vm_profile: PROFILE.replace('1g', `${gpu_count}g`),
            ...more,
          },
        }),
      release: (id) => client.allocationRelease({ params: { project_id, allocation_id: id }, body: {} }),
      reaches: (id, state, withinMs = SLOW_MS) =>
        eventually(
          `${id} is ${state}`,
          async () => {
            const found = await get(id);
            if (ENDED.includes(found.state) && found.state !== state) {
              const last = (await tasks(id)).findLast((task) => task.state === 'failed');
              assert.fail(`${id} is ${found.state}: ${found.state_reason} ${last?.kind}: ${last?.state_reason}`);
            }
            return found.state === state ? found : undefined;
          },
          withinMs,
        ),
    };
  } catch (err) {
    await close();
    throw err;
  }
};
