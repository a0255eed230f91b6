/**
 * Whether a refusal, or an acceptance, fits what the tenant was told before. Only what the model knows for certain counts: a
 * request that crosses another may see either state.
 */
import type { AllocationState } from '../../server/src/domain/allocation.ts';
import { idOf, type Observed } from './observed.ts';

const ENDED: readonly AllocationState[] = ['released', 'failed'];

/** GPUs that the tenant can have held at most, with all its launches at once. */
const gpusAskedBy = (observed: Observed, tenant: string): number =>
  observed.launches
    .filter((launch) => launch.tenant.name === tenant && [202, 0].includes(launch.reply?.status ?? 0))
    .reduce((sum, { gpu_count }) => sum + gpu_count, 0);

export const judgeRefusals = (observed: Observed): string[] => {
  const wrong: string[] = [];
  const owned = new Set(observed.launches.map(idOf));
  for (const { what, kind, tenant, project_id, target, gpus, status, code, began } of observed.decisions) {
    const say = (why: string) => wrong.push(`${what} of ${tenant} got ${status} ${code ?? ''}: ${why}`);
    const deletions = observed.deletions.filter((one) => one.project_id === project_id);
    if (status === 404 && deletions.length === 0 && (target === null || owned.has(target)))
      say('no one deleted the project');
    if (status < 300 && kind === 'launch' && deletions.some((one) => one.status === 204 && one.ended < began))
      say('its project was deleted before');
    if (code === 'quota_exceeded') {
      const limits = observed.limits.get(tenant) ?? [];
      const most = gpusAskedBy(observed, tenant) + gpus;
      if (limits.every((limit) => limit === null || limit >= most))
        say(`no limit was below ${most} GPUs, which are all that it ever asked for`);
    }
    if (kind === 'release' && status === 409 && target !== null && !observed.protections.has(target)) {
      const states = (observed.events.get(project_id) ?? [])
        .filter(({ type, subject }) => type === 'allocation.changed' && subject === target)
        .map(({ data }) => data['state'] as AllocationState);
      if (!states.some((state) => ENDED.includes(state))) say('it has not ended, and was never protected');
    }
  }
  return wrong;
};
