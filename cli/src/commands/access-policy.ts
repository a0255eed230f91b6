/** Shows and changes the access policy of an organization. */
import type { AccessPolicy, Operations } from '@gpuaas/sdk';
import { command, list } from '../command.ts';
import { UsageError } from '../exit.ts';
import { ifMatchFlags } from '../flags.ts';
import { shortDuration, shortTime } from '../table.ts';

type Change = Operations['accessPolicyUpdate']['request']['body'];

const SETTINGS = {
  session_idle_s: 'seconds',
  session_max_s: 'seconds',
  ends_with_sign_in: 'yes or no',
  records_terminals: 'yes or no',
  requires_recording: 'yes or no',
  recording_days: 'days',
  allows_service_accounts: 'yes or no',
} as const satisfies Readonly<Record<keyof Change, string>>;

const WORDS: Readonly<Record<string, boolean>> = { yes: true, true: true, no: false, false: false };

const isSetting = (name: string): name is keyof typeof SETTINGS => Object.hasOwn(SETTINGS, name);

/** `session_idle_s=600` and similar; the API validates the range of the values. */
export const policyFrom = (words: readonly string[]): Change => {
  const entries = words.map((word) => {
    const [, name = '', raw = ''] = /^([^=]*)=(.*)$/s.exec(word) ?? [];
    if (!isSetting(name))
      throw new UsageError(
        `"${word}" is not a setting.`,
        `Use name=value with one of ${Object.keys(SETTINGS).join(', ')}.`,
      );
    const value = SETTINGS[name] === 'yes or no' ? WORDS[raw] : /^\d{1,9}$/.test(raw) ? Number(raw) : undefined;
    if (value === undefined) throw new UsageError(`${name} expects ${SETTINGS[name]}, not "${raw}".`);
    return [name, value];
  });
  return Object.fromEntries(entries) as Change;
};

const fieldsOf = (policy: AccessPolicy): Record<string, unknown> => ({
  session_idle_s: `${policy.session_idle_s} (${shortDuration(policy.session_idle_s * 1000)})`,
  session_max_s: `${policy.session_max_s} (${shortDuration(policy.session_max_s * 1000)})`,
  ends_with_sign_in: policy.ends_with_sign_in,
  records_terminals: policy.records_terminals,
  requires_recording: policy.requires_recording,
  recording_days: policy.recording_days,
  allows_service_accounts: policy.allows_service_accounts,
  version: policy.version,
  updated: shortTime(policy.updated_at),
});

export const accessPolicy = command({
  name: 'access-policy',
  summary: 'Show the access policy, or change it with --set',
  scope: 'organization',
  flags: { set: list('Change a setting; repeatable', 'name=value'), ...ifMatchFlags },
  examples: [
    'gpuaas organization access-policy',
    'gpuaas organization access-policy --set records_terminals=yes --set recording_days=30',
  ],
  run: async (cli, { flags }) => {
    const body = policyFrom(flags.set ?? []);
    const [client, params] = [await cli.client(), { organization_id: await cli.organization() }];
    const found = await client.accessPolicyGet({ params }, { signal: cli.signal });
    if (flags.set === undefined) return cli.out.item(found, fieldsOf(found));
    const ifMatch = flags.ifMatch ?? found.version;
    const response = await client.call('accessPolicyUpdate', { params, body }, { ifMatch, signal: cli.signal });
    cli.out.done(`Changed the access policy of ${response.data.organization_id}.`, response);
  },
});
