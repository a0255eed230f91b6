import { type AdminRegion, FABRIC_ISOLATIONS, WIPE_LEVELS } from '@gpuaas/sdk';
import { choice, command, type Group, required, text } from '../command.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { assertChange, availability, reason, retiredFlags, switched, switchFlags } from './admin-catalog.ts';

const ruleFlags = {
  'wipe-minimum': choice('Minimum wipe level of disks between tenants', WIPE_LEVELS),
  'wipe-override': choice('Whether a two-person override makes a slot schedulable', ['allow', 'refuse']),
  'fabric-isolation': choice(
    'Provider that isolates tenants on the fabric; none: slices have no fabric',
    FABRIC_ISOLATIONS,
  ),
} as const;
type RuleFlags = {
  wipeMinimum: AdminRegion['wipe_minimum'] | undefined;
  wipeOverride: 'allow' | 'refuse' | undefined;
  fabricIsolation: AdminRegion['fabric_isolation'] | undefined;
};
const rulesOf = ({ wipeMinimum, wipeOverride, fabricIsolation }: RuleFlags) => ({
  wipe_minimum: wipeMinimum,
  allows_wipe_override: wipeOverride === undefined ? undefined : wipeOverride === 'allow',
  fabric_isolation: fabricIsolation,
});

const sentence = ({ name, enabled, wipe_minimum, allows_wipe_override, fabric_isolation }: AdminRegion): string =>
  `Region ${name} is ${enabled ? 'enabled' : 'disabled'}; minimum wipe level ${wipe_minimum}; wipe overrides ${allows_wipe_override ? 'allowed' : 'refused'}; fabric isolation ${fabric_isolation}.`;

export const adminRegion: Group = {
  name: 'region',
  summary: 'Create, change and retire regions, and set their rules for wipes and fabric',
  commands: [
    command({
      name: 'list',
      summary: 'List regions',
      flags: { ...pageFlags, ...retiredFlags },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminRegionList({ query: { ...query, include_retired: flags.retired } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'REGION', value: ({ name }) => name },
          { header: 'NAME', value: ({ display_name }) => display_name, shrink: 'cut' },
          { header: 'WIPE LEVEL', value: ({ wipe_minimum }) => wipe_minimum },
          { header: 'FABRIC', value: ({ fabric_isolation }) => fabric_isolation },
          { header: 'ENABLED', value: availability, shrink: 'wrap' },
        ]);
      },
    }),
    command({
      name: 'get',
      summary: 'Show a region',
      args: { region: 'Name' },
      run: async (cli, { args }) => {
        const params = { region_name: args.region };
        cli.out.item(await (await cli.client()).adminRegionGet({ params }, { signal: cli.signal }));
      },
    }),
    command({
      name: 'create',
      summary: 'Create a region, or bring a retired one back',
      args: { region: 'Name, such as eu-north-1' },
      flags: {
        'display-name': required(text('Display name')),
        ...ruleFlags,
        ...switchFlags,
        ...keyFlags,
      },
      examples: ['gpuaas admin region create eu-north-1 --display-name "Stockholm, Sweden"'],
      run: async (cli, { args, flags }) => {
        const body = {
          name: args.region,
          display_name: flags.displayName,
          enabled: switched(flags),
          disabled_reason: flags.reason,
          ...rulesOf(flags),
        };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminRegionCreate', { body }, options);
        cli.out.done(sentence(response.data), response);
      },
    }),
    command({
      name: 'update',
      summary: 'Enable or disable a region, rename it, or set its rules for wipes and fabric',
      args: { region: 'Name' },
      flags: { 'display-name': text('Display name'), ...ruleFlags, ...switchFlags, ...ifMatchFlags },
      examples: ['gpuaas admin region update eu-north-1 --wipe-minimum purge'],
      run: async (cli, { args, flags }) => {
        const enabled = switched(flags);
        assertChange(flags, ['enable', 'disable', 'display-name', 'wipe-minimum', 'wipe-override', 'fabric-isolation']);
        const [client, params] = [await cli.client(), { region_name: args.region }];
        const ifMatch = flags.ifMatch ?? (await client.adminRegionGet({ params }, { signal: cli.signal })).version;
        const body = { display_name: flags.displayName, enabled, disabled_reason: flags.reason, ...rulesOf(flags) };
        const response = await client.call('adminRegionUpdate', { params, body }, { ifMatch, signal: cli.signal });
        cli.out.done(sentence(response.data), response);
      },
    }),
    command({
      name: 'retire',
      summary: 'Retire a region without nodes and allocations',
      args: { region: 'Name' },
      flags: { reason, ...yesFlags, ...keyFlags },
      run: async (cli, { args, flags }) => {
        await cli.confirm(`Retire region ${args.region}?`, flags.yes);
        const request = { params: { region_name: args.region }, body: { reason: flags.reason } };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminRegionRetire', request, options);
        cli.out.done(`Region ${response.data.name} is retired. Create it again to bring it back.`, response);
      },
    }),
  ],
};
