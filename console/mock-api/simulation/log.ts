/** Lines that processes and agents would write while something happens. */
import type { LogLine } from '../core/rows.ts';
import type { World } from '../core/world.ts';

const LINES_MAX = 4_000;

export type Said = Readonly<{
  level?: LogLine['level'];
  message: string;
  correlation_id: string | null;
  node_id?: string | null;
  service?: string;
  error_code?: string;
  fields?: Readonly<Record<string, unknown>>;
  /** How long ago it was written. */
  ago_ms?: number;
}>;

export const say = (world: World, said: Said): void => {
  const node = said.node_id ? world.nodes.get(said.node_id) : undefined;
  const line: LogLine = {
    logged_at: world.ago(said.ago_ms),
    level: said.level ?? 'info',
    service: said.service ?? (node === undefined ? 'gpuaas-provisioning-worker' : 'gpuaas-node-agent'),
    host_role: node === undefined ? 'platform_control' : 'worker_compute',
    host_name: node?.name ?? 'control-1',
    node_id: node?.id ?? null,
    message: said.message,
    correlation_id: said.correlation_id,
    error_code: said.error_code ?? null,
    fields: { ...said.fields },
  };
  world.logs.push(line);
  if (world.logs.length > LINES_MAX) world.logs.splice(0, world.logs.length - LINES_MAX);
};
