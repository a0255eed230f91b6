/**
 * Tasks of this host and their state, written before acting: accepted, begun, finished, acknowledged. So a task runs
 * once however often it is delivered, a restart continues where the process ended, and an earlier owner of a slot
 * cannot return (`newest generation per slot`). A task ID always has the same content; signing times are not part of
 * it, because a redelivery is signed again. Refused tasks are written too, once each, until the control plane knows them.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { TaskDisk, TaskPayload, TaskRefusal, TaskResult, TaskSlot } from '@gpuaas/contract/node';
import { type JournalFile, type JournalFs, openJournalFile } from './journal-file.ts';
import { hasUserData, withoutUserData } from './journal-user-data.ts';
import { diskTargets, type StaleSlot, staleSlots } from './stale.ts';

type Entry = Readonly<
  | { e: 'generations'; generations: Readonly<Record<string, number>> }
  | { e: 'accepted'; at: string; task_id: string; sha256: string; payload: TaskPayload }
  | { e: 'begun'; at: string; task_id: string }
  | { e: 'finished'; at: string; task_id: string; result: TaskResult }
  | { e: 'acknowledged'; at: string; task_id: string }
  | { e: 'refused'; refusal: TaskRefusal }
  | { e: 'refusal_reported'; at: string; key: string }
>;

export type TaskRecord = Readonly<{
  task_id: string;
  sha256: string;
  state: 'accepted' | 'begun' | 'finished' | 'acknowledged';
  /** Null once it is no longer needed. */
  payload: TaskPayload | null;
  result: TaskResult | null;
  begun_at: string | null;
  /** When it was accepted, or acknowledged if it is finished. */
  at: string;
}>;

export type Judgement =
  | Readonly<{ kind: 'new' }>
  | Readonly<{ kind: 'known'; record: TaskRecord }>
  /** The ID is known with other content. */
  | Readonly<{ kind: 'forged' }>
  | Readonly<{ kind: 'stale'; slots: readonly StaleSlot[] }>;

export type Journal = Readonly<{
  torn_bytes: number;
  judge(payload: TaskPayload): Judgement;
  find(taskId: string): TaskRecord | undefined;
  /** Not yet acknowledged, oldest first. */
  open(): readonly TaskRecord[];
  /** Rejected, and not kept in memory, if it cannot be written. */
  accept(payload: TaskPayload): Promise<void>;
  begin(taskId: string): Promise<void>;
  /**
   * Kept in memory at once. The result says whether it is on disk: the event has happened, so a line that could not be
   * written is pending and goes with the next.
   */
  finish(taskId: string, result: TaskResult): Promise<boolean>;
  acknowledge(taskId: string): Promise<boolean>;
  /** False if it is already written, or if the limit against a flood by an attacker is reached. */
  refuse(refusal: TaskRefusal): Promise<boolean>;
  /** Refusals that the control plane does not know yet, oldest first. */
  unreportedRefusals(): readonly TaskRefusal[];
  refusalReported(key: string): Promise<void>;
  /** The result of a task, also of a recently acknowledged one. */
  resultOf(taskId: string): Promise<TaskResult | null>;
  close(): Promise<void>;
}>;

export type JournalOptions = Readonly<{
  state: string;
  now?: () => Date;
  /** False only if losing the process loses the host as well, as in the simulator. */
  is_synced?: boolean;
  /** How long acknowledged tasks are kept. Longer than the lifetime of a signature. */
  keep_ms?: number;
  compact_above?: number;
  /** Called when the journal could not be compacted. */
  onError?: (err: unknown) => void;
  fs?: JournalFs;
}>;

/** A flood of forged tasks must not fill the disk: beyond this, refusals are only logged. */
const REFUSALS_MAX = 200;

const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, canonical(inner)]),
  );
};

export const contentHash = (payload: TaskPayload): string => {
  const { issued_at: _, expires_at: __, ...content } = payload;
  return createHash('sha256')
    .update(JSON.stringify(canonical(content)))
    .digest('hex');
};

/** The slots that a task names, wherever its kind puts them. */
export const slotsOf = (payload: TaskPayload): readonly TaskSlot[] => {
  const { slots, rebind } = payload.params as { slots?: TaskSlot[]; rebind?: TaskSlot[] };
  return [...(slots ?? []), ...(rebind ?? [])];
};

/** Those, and the disks beside them: each has a generation. */
const targetsOf = (payload: TaskPayload) => {
  const { disks } = payload.params as { disks?: TaskDisk[] };
  return [...slotsOf(payload), ...diskTargets(disks ?? [])];
};

export const openJournal = async (options: JournalOptions): Promise<Journal> => {
  const now = options.now ?? (() => new Date());
  const keepMs = options.keep_ms ?? 24 * 3600_000;
  const path = join(options.state, 'journal.jsonl');
  const { file, lines, torn_bytes } = await openJournalFile({
    path,
    is_synced: options.is_synced ?? true,
    ...(options.fs === undefined ? {} : { fs: options.fs }),
  });
  const memory = createMemory();
  for (const line of lines) memory.apply(JSON.parse(line) as Entry);

  let compactAbove = options.compact_above ?? 1024 * 1024;
  const compact = async (): Promise<void> => {
    memory.forget(new Date(now().getTime() - keepMs));
    let over: ReadonlySet<string> = new Set();
    await file.rewrite((current) => {
      over = memory.endedUserData();
      return [
        JSON.stringify({ e: 'generations', generations: memory.generations() } satisfies Entry),
        ...current.flatMap((line) => {
          const entry = JSON.parse(line) as Entry;
          if (!memory.wants(entry)) return [];
          return [entry.e === 'accepted' && over.has(entry.task_id) ? shed(entry) : line];
        }),
      ];
    });
    memory.untell(over);
    compactAbove = Math.max(options.compact_above ?? 1024 * 1024, 2 * file.size());
  };
  // A journal that cannot be compacted still works.
  const tidy = async (): Promise<void> => {
    if (file.size() > compactAbove || memory.endedUserData().size > 0)
      await compact().catch((err: unknown) => options.onError?.(err));
  };
  await tidy();

  /** Lines that are not on disk yet. */
  let owed: string[] = [];
  const write = async (entry: Entry, isOwed: boolean): Promise<void> => {
    const line = JSON.stringify(entry);
    const batch = [...owed, line];
    const debt = owed;
    owed = [];
    try {
      await file.append(batch, () => memory.apply(entry));
    } catch (err) {
      owed = [...debt, ...(isOwed ? [line] : []), ...owed];
      throw err;
    }
  };
  const settle = async (entry: Entry): Promise<boolean> => {
    memory.apply(entry);
    try {
      await write(entry, true);
      return true;
    } catch {
      return false;
    }
  };
  const at = (): string => now().toISOString();

  return {
    torn_bytes,
    judge: memory.judge,
    find: memory.find,
    open: memory.open,
    accept: (payload) => {
      memory.raise(payload);
      return write({ e: 'accepted', at: at(), task_id: payload.task_id, sha256: contentHash(payload), payload }, false);
    },
    begin: (taskId) => write({ e: 'begun', at: at(), task_id: taskId }, false),
    finish: (taskId, result) => settle({ e: 'finished', at: at(), task_id: taskId, result }),
    acknowledge: async (taskId) => {
      const isWritten = await settle({ e: 'acknowledged', at: at(), task_id: taskId });
      if (isWritten) await tidy();
      return isWritten;
    },
    refuse: async (refusal) => {
      if (!memory.mayRefuse(refusal.key)) return false;
      await write({ e: 'refused', refusal }, true);
      return true;
    },
    unreportedRefusals: memory.unreportedRefusals,
    refusalReported: async (key) => {
      await settle({ e: 'refusal_reported', at: at(), key });
    },
    resultOf: async (taskId) => memory.find(taskId)?.result ?? (await findResult(file, taskId)),
    close: file.close,
  };
};

const shed = (entry: Extract<Entry, { e: 'accepted' }>): string =>
  JSON.stringify({ ...entry, payload: withoutUserData(entry.payload) } satisfies Entry);

const findResult = async (file: JournalFile, taskId: string): Promise<TaskResult | null> => {
  for (const line of (await file.read()).toReversed()) {
    const entry = JSON.parse(line) as Entry;
    if (entry.e === 'finished' && entry.task_id === taskId) return entry.result;
  }
  return null;
};

const createMemory = () => {
  const tasks = new Map<string, TaskRecord>();
  const newest = new Map<string, number>();
  /** Tasks whose line in the file contains user data. */
  const withUserData = new Set<string>();
  const refusals = new Map<string, Readonly<{ refusal: TaskRefusal; reported_at: string | null }>>();
  const isOver = (taskId: string): boolean => {
    const state = tasks.get(taskId)?.state;
    return state === undefined || state === 'finished' || state === 'acknowledged';
  };

  const raise = (slotId: string, generation: number): void => {
    if (generation > (newest.get(slotId) ?? -1)) newest.set(slotId, generation);
  };
  const raiseAll = (payload: TaskPayload): void => {
    for (const slot of targetsOf(payload)) raise(slot.slot_id, slot.generation);
  };

  const apply = (entry: Entry): void => {
    if (entry.e === 'generations') {
      for (const [slotId, generation] of Object.entries(entry.generations)) raise(slotId, generation);
      return;
    }
    if (entry.e === 'refused') {
      if (!refusals.has(entry.refusal.key))
        refusals.set(entry.refusal.key, { refusal: entry.refusal, reported_at: null });
      return;
    }
    if (entry.e === 'refusal_reported') {
      const known = refusals.get(entry.key);
      if (known !== undefined) refusals.set(entry.key, { ...known, reported_at: entry.at });
      return;
    }
    if (entry.e === 'accepted') {
      raiseAll(entry.payload);
      const { task_id, sha256, payload, at } = entry;
      if (hasUserData(payload)) withUserData.add(task_id);
      if (!tasks.has(task_id))
        tasks.set(task_id, { task_id, sha256, state: 'accepted', payload, result: null, begun_at: null, at });
      return;
    }
    const record = tasks.get(entry.task_id);
    if (record === undefined || record.state === 'acknowledged') return;
    if (entry.e === 'begun' && record.state === 'accepted')
      tasks.set(entry.task_id, { ...record, state: 'begun', begun_at: entry.at });
    // Large parts leave memory as soon as they are not needed; the file keeps them.
    if (entry.e === 'finished' && record.state !== 'finished')
      tasks.set(entry.task_id, { ...record, state: 'finished', result: entry.result });
    if (entry.e === 'acknowledged')
      tasks.set(entry.task_id, { ...record, state: 'acknowledged', payload: null, result: null, at: entry.at });
  };

  const judge = (payload: TaskPayload): Judgement => {
    const record = tasks.get(payload.task_id);
    if (record !== undefined)
      return record.sha256 === contentHash(payload) ? { kind: 'known', record } : { kind: 'forged' };
    const stale = staleSlots(targetsOf(payload), (slotId) => newest.get(slotId));
    return stale.length > 0 ? { kind: 'stale', slots: stale } : { kind: 'new' };
  };

  return {
    apply,
    judge,
    raise: raiseAll,
    find: (taskId: string) => tasks.get(taskId),
    open: () => [...tasks.values()].filter((record) => record.state !== 'acknowledged'),
    /** Those of them that are done. */
    endedUserData: (): ReadonlySet<string> => new Set([...withUserData].filter(isOver)),
    untell: (taskIds: ReadonlySet<string>) => {
      for (const taskId of taskIds) withUserData.delete(taskId);
    },
    generations: () => Object.fromEntries(newest),
    forget: (before: Date) => {
      for (const record of tasks.values())
        if (record.state === 'acknowledged' && record.at < before.toISOString()) tasks.delete(record.task_id);
      for (const [key, { reported_at }] of refusals)
        if (reported_at !== null && reported_at < before.toISOString()) refusals.delete(key);
    },
    wants: (entry: Entry) => {
      if (entry.e === 'generations') return false;
      if (entry.e === 'refused') return refusals.has(entry.refusal.key);
      return entry.e === 'refusal_reported' ? refusals.has(entry.key) : tasks.has(entry.task_id);
    },
    mayRefuse: (key: string) => !refusals.has(key) && refusals.size < REFUSALS_MAX,
    unreportedRefusals: () =>
      [...refusals.values()].flatMap(({ refusal, reported_at }) => (reported_at === null ? [refusal] : [])),
  };
};
