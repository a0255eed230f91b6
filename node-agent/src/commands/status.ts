/** `gpuaas-node-agent status`: the agent's state, read from the state directory while an agent may run. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isProcessAlive } from '@gpuaas/kit';
import { ENV_FILE } from '../config.ts';
import { readIfThere } from '../control-plane/durable.ts';
import { readEnrollment } from '../control-plane/identity.ts';
import { VERSION } from '../version.ts';
import { COMMON_OPTIONS, type Io, settingsOf } from './io.ts';

/** Tasks without an acknowledgement. The last line may be incomplete, because an agent may be writing it. */
const openTasks = (journal: string): string[] => {
  const open = new Set<string>();
  for (const line of journal.split('\n')) {
    try {
      const { e, task_id } = JSON.parse(line) as { e?: string; task_id?: string };
      if (task_id === undefined) continue;
      if (e === 'acknowledged') open.delete(task_id);
      else open.add(task_id);
    } catch {
      // An incomplete line.
    }
  }
  return [...open];
};

export const statusCommand = async (argv: readonly string[], io: Io): Promise<number> => {
  const { values } = parseArgs({
    args: [...argv],
    options: { ...COMMON_OPTIONS, json: { type: 'boolean', default: false } },
  });
  const settings = await settingsOf(io, values, ENV_FILE);
  const enrollment = await readEnrollment(settings.state);
  const holder = (await readIfThere(join(settings.state, 'agent.lock')))?.trim();
  const status = {
    version: VERSION,
    state_dir: settings.state,
    node_api_url: settings.url?.href ?? null,
    is_enrolled: enrollment !== undefined,
    node_id: enrollment?.identity.node_id ?? null,
    certificate_not_after: enrollment?.identity.not_after ?? null,
    certificate_renew_after: enrollment?.identity.renew_after ?? null,
    trust_version: enrollment?.trust.version ?? null,
    is_running: holder !== undefined && isProcessAlive(holder),
    open_tasks: openTasks((await readIfThere(join(settings.state, 'journal.jsonl'))) ?? ''),
  };
  const text = values.json
    ? JSON.stringify(status, null, 2)
    : Object.entries(status)
        .map(([key, value]) => `${key.padEnd(24)} ${Array.isArray(value) ? value.join(' ') || 'none' : (value ?? '-')}`)
        .join('\n');
  io.out(`${text}\n`);
  return enrollment === undefined ? 1 : 0;
};
