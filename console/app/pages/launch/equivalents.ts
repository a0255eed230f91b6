/** The launch form as a CLI command and as an API request: both launch exactly what the form launches. */
import { command, type Flag, shellQuote } from '../../format/shell.ts';
import { durationFlag } from '../../format/time.ts';
import { bodyOf, type LaunchForm, maxDurationOf } from './form.ts';

export const USER_DATA_FILE = 'user-data.txt';

export const cliCommand = (form: LaunchForm, projectId: string): string => {
  const body = bodyOf(form);
  if (body === null) return '';
  const duration = maxDurationOf(form.hours);
  const flags: Flag[] = [
    ['project', projectId],
    ['sku', body.sku_name],
    ['region', body.region_name],
    ['gpus', body.gpu_count],
    ['image', body.image_name],
    ['vm-profile', body.vm_profile],
    ...form.keys.map(({ name }): Flag => ['ssh-key', name]),
    ...Object.entries(body.tags ?? {}).map(([key, value]): Flag => ['tag', `${key}=${value}`]),
    ['protect', body.is_protected],
    ['max-duration', duration === null ? null : durationFlag(duration)],
    ['storage', body.storage],
    ['network', body.network],
    ['user-data', body.user_data === undefined ? null : USER_DATA_FILE],
  ];
  return command(['allocation', 'create', body.name], flags);
};

export const curlCommand = (form: LaunchForm, projectId: string, origin: string): string => {
  const body = bodyOf(form);
  if (body === null) return '';
  return [
    `curl --fail-with-body -X POST ${shellQuote(`${origin}/api/v1/projects/${projectId}/allocations`)}`,
    '-H "Authorization: Bearer $GPUAAS_TOKEN"',
    "-H 'Content-Type: application/json'",
    '-H "Idempotency-Key: $(uuidgen)"',
    `--data-binary ${shellQuote(JSON.stringify(body))}`,
  ].join(' \\\n  ');
};
