/**
 * A workflow for tests only: it reserves, boots (polling), waits for an approval, and finishes. Its external system is
 * a map in memory with ensure-style calls; its commits write to a table that counts them.
 */
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import type { Database, Tx } from '../src/db/client.ts';
import { PLATFORM } from '../src/db/client.ts';
import { type Commit, done, next, stuck, wait, waitForSignal } from '../src/workflows/engine/outcome.ts';
import { workflow } from '../src/workflows/engine/workflow.ts';
import { declared } from './declared.ts';

export type ExampleDeps = Readonly<{
  host: Readonly<{
    reserve(id: string): Promise<void>;
    boot(id: string): Promise<'booting' | 'ready'>;
    remove(id: string): Promise<void>;
  }>;
  note(id: string, step: string): Commit;
}>;

const STEPS = ['reserve', 'boot', 'approve', 'finish', 'cleanUp'] as const;

export const example = workflow<ExampleDeps, Readonly<{ id: string }>, (typeof STEPS)[number]>({
  declared: declared('example', STEPS),
  deadlineMs: 60 * 60_000,
  retry: { attempts_max: 4, base_ms: 1_000, cap_ms: 8_000 },
  onCancel: 'cleanUp',
  load: async (_, id) => ({ id }),
  steps: {
    async reserve(deps, subject) {
      await deps.host.reserve(subject.id);
      return next('boot', deps.note(subject.id, 'reserve'));
    },
    async boot(deps, subject) {
      const state = await deps.host.boot(subject.id);
      return state === 'ready' ? next('approve', deps.note(subject.id, 'boot')) : wait(2_000, 'The host is booting.');
    },
    async approve(deps, subject, { signals }) {
      if (signals.take('approved') !== undefined) return next('finish', deps.note(subject.id, 'approve'));
      if (signals.timedOut('approved')) return stuck('No approval came in time.');
      return waitForSignal('approved', 600_000, 'Waiting for approval.');
    },
    async finish(deps, subject) {
      return done(deps.note(subject.id, 'finish'));
    },
    async cleanUp(deps, subject) {
      await deps.host.remove(subject.id);
      return done(deps.note(subject.id, 'cleanUp'));
    },
  },
});

/** The table that the example's commits write to, one row per commit that was applied. */
export const createEffects = async (ownerUrl: string): Promise<void> => {
  const client = new Client({ connectionString: ownerUrl });
  await client.connect();
  await client.query('create table example_effects (subject_id text not null, step text not null)');
  await client.query('grant select, insert on example_effects to gpuaas_app');
  await client.end();
};

export const noteEffect =
  (id: string, step: string): Commit =>
  async (tx: Tx) => {
    await tx.query('insert into example_effects (subject_id, step) values ($1, $2)', [id, step]);
  };

export const effectsOf = async (database: Database, id: string): Promise<string[]> => {
  const { rows } = await database.read(PLATFORM, (reader) =>
    reader.query<{ step: string }>('select step from example_effects where subject_id = $1 order by step', [id]),
  );
  return rows.map((row) => row.step);
};

export type ExampleWorld = Readonly<{ deps: ExampleDeps; subject_id: string; hosts: ReadonlyMap<string, string> }>;

/** A host is not ready at the first check after its boot. */
export const exampleWorld = (): ExampleWorld => {
  const hosts = new Map<string, 'reserved' | 'booting' | 'ready'>();
  const deps: ExampleDeps = {
    host: {
      reserve: async (id) => {
        if (!hosts.has(id)) hosts.set(id, 'reserved');
      },
      boot: async (id) => {
        const state = hosts.get(id);
        if (state === undefined) throw new Error(`host of ${id} is not reserved`);
        hosts.set(id, state === 'reserved' ? 'booting' : 'ready');
        return state === 'reserved' ? 'booting' : 'ready';
      },
      remove: async (id) => {
        hosts.delete(id);
      },
    },
    note: noteEffect,
  };
  return { deps, subject_id: mintId('sub'), hosts };
};
