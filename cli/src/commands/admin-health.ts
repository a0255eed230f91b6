/** Health reports about a node, health overrides by operators, and the circuit breaker. */
import type { Operations } from '@gpuaas/sdk';
import { choice, command, duration, type Group, list, required, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { UsageError } from '../exit.ts';
import { nodeId } from '../find.ts';
import { ifMatchFlags, keyFlags, yesFlags } from '../flags.ts';
import { taskText } from '../state-text.ts';
import { type Column, shortTime } from '../table.ts';

type Health = Operations['adminNodeHealthGet']['response'];
type Alert = Health['alerts'][number];
type Breaker = Operations['adminHealthBreakerGet']['response'];

const node = { node: 'Name or ID' } as const;
const sourceOf = { ...node, source: 'Source of the reports, from health show' } as const;
const reason = required(text('Reason, recorded in the audit log'));

/** The effect of each alert classification, for a person. */
const PREVENTS: Readonly<Record<Alert['classifications'][number], string>> = {
  prevent_allocations: 'launches',
  prevent_host_changes: 'host changes',
  suppress_alert: 'nothing (suppressed)',
};
const preventsText = (classifications: Alert['classifications']): string =>
  classifications.length === 0 ? 'nothing' : classifications.map((word) => PREVENTS[word]).join(', ');

const alertColumns: readonly Column<Alert>[] = [
  { header: 'ALERT', value: ({ id }) => id },
  { header: 'TARGET', value: ({ target }) => target },
  { header: 'SINCE', value: ({ since }) => shortTime(since) },
  { header: 'PREVENTS', value: ({ classifications }) => preventsText(classifications), shrink: 'wrap' },
];

const showHealth = (cli: Cli, health: Health): void => {
  const { out } = cli;
  const slots = health.slots.filter((slot) => slot.health !== 'ok');
  out.item(health, {
    node: health.node_id,
    health: health.health,
    prevents: preventsText(health.prevents),
    'slot alerts': slots.length === 0 ? 'none' : slots.map((slot) => `slot ${slot.slot_index} is ${slot.health}`),
  });
  if (out.json) return;
  if (health.alerts.length > 0) {
    out.table(health.alerts, alertColumns);
    out.points(
      'Alerts:',
      health.alerts.map(({ id, message }) => `${id}: ${message}`),
    );
  }
  out.table(health.reports, [
    { header: 'SOURCE', value: ({ source }) => source },
    { header: 'CHECKED', value: ({ observed_at }) => shortTime(observed_at) },
    { header: 'PASSED', value: ({ successes }) => successes.length, align: 'right' },
    { header: 'ALERTS', value: ({ alerts }) => alerts.map(({ id }) => id).join(', '), shrink: 'wrap' },
  ]);
  if (health.overrides.length === 0) return;
  out.table(health.overrides, [
    { header: 'OVERRIDDEN', value: ({ source }) => source },
    { header: 'MODE', value: ({ mode }) => mode },
    { header: 'UNTIL', value: ({ expires_at }) => (expires_at === null ? 'removed' : shortTime(expires_at)) },
    { header: 'MUTED', value: ({ muted_alert_ids }) => muted_alert_ids.join(', '), shrink: 'wrap' },
    { header: 'REASON', value: ({ reason: why }) => why, shrink: 'wrap' },
  ]);
};

/** `gpu_loud=The fan is loud` as an alert of the node. */
const alertFrom = (given: string, shared: Omit<Alert, 'id' | 'target' | 'message'>): Alert => {
  const [, id = '', message = ''] = /^([a-z0-9_.-]{1,64})=(.+)$/s.exec(given) ?? [];
  if (id === '') throw new UsageError(`"${given}" is not an alert.`, 'Use --alert "gpu_loud=The fan is loud."');
  return { id, target: 'node', message, ...shared };
};

const overrideSet = command({
  name: 'set',
  summary: 'Override a health source: mute, add or replace alerts',
  args: sourceOf,
  flags: {
    mute: list('Ignore this alert; repeatable', 'alert'),
    alert: list('Add this alert for the whole node; repeatable', 'id=message'),
    prevents: choice('What --alert blocks (default launches)', ['launches', 'host-changes'] as const),
    'tenant-message': text('Notice that --alert shows to the tenants of the node', 'text'),
    replace: toggle('Replace all alerts of the source by those of --alert'),
    for: duration('How long the override applies, like 4h (default: until removed)'),
    reason,
  },
  examples: [
    'gpuaas admin health override set j22u15 node-agent --mute gpu_temperature --for 4h --reason "The aisle is being cooled."',
  ],
  run: async (cli, { args, flags }) => {
    if (flags.mute === undefined && flags.alert === undefined && !flags.replace)
      throw new UsageError('No override specified.', 'Add --mute, --alert or --replace.');
    if (flags.tenantMessage !== undefined && flags.alert === undefined)
      throw new UsageError('--tenant-message belongs to an alert.', 'Add --alert "id=message".');
    const now = Date.now();
    const prevented: Alert['classifications'][number] =
      flags.prevents === 'host-changes' ? 'prevent_host_changes' : 'prevent_allocations';
    const since = new Date(now).toISOString();
    const shared = { since, tenant_message: flags.tenantMessage ?? null, classifications: [prevented] };
    const params = { node_id: await nodeId(cli, args.node), source: args.source };
    const body = {
      mode: flags.replace ? ('replace' as const) : ('merge' as const),
      alerts: (flags.alert ?? []).map((given) => alertFrom(given, shared)),
      muted_alert_ids: flags.mute ?? [],
      expires_at: flags.for === undefined ? null : new Date(now + flags.for).toISOString(),
      reason: flags.reason,
    };
    const response = await (await cli.client()).call(
      'adminNodeHealthOverridePut',
      { params, body },
      { signal: cli.signal },
    );
    cli.out.done(`Override for ${args.source} applied; health of ${args.node}: ${response.data.health}.`, response);
  },
});

const overrideRemove = command({
  name: 'remove',
  summary: 'Remove a health override',
  args: sourceOf,
  run: async (cli, { args }) => {
    const params = { node_id: await nodeId(cli, args.node), source: args.source };
    const client = await cli.client();
    const response = await client.call('adminNodeHealthOverrideDelete', { params }, { signal: cli.signal });
    cli.out.done(`Removed the override for ${args.source} on ${args.node}.`, response);
  },
});

const breakerFields = (breaker: Breaker): Record<string, unknown> => ({
  tripped: breaker.is_tripped,
  ...(breaker.tripped_at === null ? {} : { 'tripped at': shortTime(breaker.tripped_at), reason: breaker.reason }),
  ...(breaker.reset_at === null ? {} : { 'reset at': shortTime(breaker.reset_at), 'reset by': breaker.reset_by }),
});

export const adminHealth: Group = {
  name: 'health',
  summary: 'Show node health; manage overrides and the circuit breaker',
  commands: [
    command({
      name: 'show',
      summary: 'Show health of a node and its slots, by source',
      args: node,
      run: async (cli, { args }) => {
        const params = { node_id: await nodeId(cli, args.node) };
        showHealth(cli, await (await cli.client()).adminNodeHealthGet({ params }, { signal: cli.signal }));
      },
    }),
    command({
      name: 'probe',
      summary: 'Run a health check on the host now',
      args: node,
      flags: keyFlags,
      run: async (cli, { args, flags }) => {
        const params = { node_id: await nodeId(cli, args.node) };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminNodeHealthProbe', { params, body: {} }, options);
        cli.out.done(
          `Task ${response.data.id} ${taskText(response.data.state)}; see gpuaas admin health show ${args.node}.`,
          response,
        );
      },
    }),
    {
      name: 'override',
      summary: 'Set and remove overrides of a health source',
      commands: [overrideSet, overrideRemove],
    },
    {
      name: 'breaker',
      summary: 'Show and reset the circuit breaker',
      commands: [
        command({
          name: 'show',
          summary: 'Show whether the circuit breaker has tripped',
          run: async (cli) => {
            const breaker = await (await cli.client()).adminHealthBreakerGet({}, { signal: cli.signal });
            cli.out.item(breaker, breakerFields(breaker));
            if (breaker.is_tripped && !cli.out.json)
              cli.out.say(
                'New health reports do not make hosts unschedulable. After checking the cause: gpuaas admin health breaker reset',
              );
          },
        }),
        command({
          name: 'reset',
          summary: 'Reset the circuit breaker',
          flags: { reason, ...ifMatchFlags, ...yesFlags, ...keyFlags },
          run: async (cli, { flags }) => {
            const client = await cli.client();
            const { version } = await client.adminHealthBreakerGet({}, { signal: cli.signal });
            await cli.confirm('Reset the circuit breaker? Health reports make hosts unschedulable again.', flags.yes);
            const ifMatch = flags.ifMatch ?? version;
            const options = { idempotencyKey: flags.idempotencyKey, ifMatch, signal: cli.signal };
            const response = await client.call('adminHealthBreakerReset', { body: { reason: flags.reason } }, options);
            cli.out.done('The circuit breaker is reset.', response);
          },
        }),
      ],
    },
  ],
};
