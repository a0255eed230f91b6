/** Every page of the console with content, as URLs into the demo, each with a name for its screenshot. */
import type { MockApi, Persona } from '../mock-api/index.ts';
import { SLICE_SKU } from '../mock-api/seed/catalog.ts';

export type Route = Readonly<{
  name: string;
  path: string;
  as?: Persona;
  seed?: string;
}>;

/** A route, and whether it is the first of its page: others are tabs, filters or other data of it. */
export type PageRoute = Route & Readonly<{ isFirst: boolean }>;

const pageOf = ({ path, as }: Route): string =>
  `${as ?? ''} ${path.replace(/\?.*$/, '').replaceAll(/\b[a-z]{3}_\w+/g, '')}`;

const markFirst = (routes: readonly Route[]): readonly PageRoute[] =>
  routes.map((route, index) => ({
    ...route,
    isFirst: routes.findIndex((other) => pageOf(other) === pageOf(route)) === index,
  }));

const find = <T extends { id: string }>(rows: Iterable<T>, holds: (row: T) => boolean, what: string): string => {
  for (const row of rows) if (holds(row)) return row.id;
  throw new Error(`the demo has no ${what}`);
};

export const routesOf = ({ seedIds: cast, world }: MockApi): readonly PageRoute[] => {
  const project = `/projects/${cast.project_id}`;
  const organization = `/organizations/${cast.organization_id}`;
  const mine = [...world.allocations.values()].filter(({ project_id }) => project_id === cast.project_id);
  const allocation = (state: string): string => find(mine, (row) => row.state === state, `${state} allocation`);
  const slots = [...world.slots.values()];
  const node = (status: string): string => {
    const slot = slots.find((row) => row.status === status);
    if (slot === undefined) throw new Error(`the demo has no ${status} slot`);
    return slot.node_id;
  };
  const blocked = node('cleanup_blocked');
  const discovered = find(
    world.nodes.values(),
    ({ id, state }) => state === 'active' && !slots.some(({ node_id }) => node_id === id),
    'node that waits for approval',
  );
  const tabs = (name: string, path: string, names: readonly string[]): Route[] =>
    names.map((tab) => ({ name: `${name}-${tab}`, path: `${path}?tab=${tab}` }));
  return markFirst([
    { name: 'welcome', path: '/', as: 'newcomer' },
    { name: 'pending', path: '/', as: 'waiting' },
    { name: 'overview', path: project },
    { name: 'overview-empty', path: `/projects/${cast.other_project_id}`, seed: 'empty' },
    { name: 'launch', path: `${project}/launch` },
    { name: 'launch-whole-node', path: `${project}/launch?shape=baremetal` },
    { name: 'launch-does-not-fit', path: `${project}/launch?shape=gpu_slice&gpus=8` },
    { name: 'launch-viewer', path: `${project}/launch`, as: 'viewer' },
    { name: 'allocations', path: `${project}/allocations?state=all` },
    { name: 'allocations-none', path: `${project}/allocations?q=nothing-like-it` },
    { name: 'allocation-starting', path: `${project}/allocations/${allocation('provisioning')}` },
    { name: 'allocation-failed', path: `${project}/allocations/${allocation('failed')}` },
    { name: 'allocation-blocked', path: `${project}/allocations/${allocation('release_failed')}` },
    ...tabs('allocation', `${project}/allocations/${allocation('active')}`, [
      'connect',
      'timeline',
      'network',
      'usage',
      'audit',
      'details',
      'wipe',
    ]),
    { name: 'allocation-wiped', path: `${project}/allocations/${allocation('released')}?tab=wipe` },
    { name: 'allocation-viewer', path: `${project}/allocations/${allocation('active')}`, as: 'viewer' },
    { name: 'usage', path: `${project}/usage` },
    ...tabs('project-access', `${project}/access`, ['members', 'service-accounts']),
    { name: 'service-account', path: `${project}/access?account=${cast.service_account_id}` },
    { name: 'project-trace', path: `${project}/trace?id=${allocation('failed')}` },
    ...tabs('organization', organization, ['projects', 'members', 'invitations', 'policy']),
    { name: 'limits', path: `${organization}/limits` },
    { name: 'limits-viewer', path: `${organization}/limits`, as: 'viewer' },
    { name: 'audit', path: `${organization}/audit` },
    { name: 'nodes', path: '/platform/nodes' },
    { name: 'nodes-none', path: '/platform/nodes?q=nothing-like-it' },
    { name: 'nodes-empty', path: '/platform/nodes', seed: 'empty' },
    ...tabs('node', `/platform/nodes/${blocked}`, [
      'slots',
      'topology',
      'candidates',
      'convert',
      'health',
      'inventory',
      'images',
      'tasks',
      'logs',
      'agent',
    ]),
    { name: 'node-slot', path: `/platform/nodes/${blocked}?tab=slots&slot=0` },
    { name: 'node-to-approve', path: `/platform/nodes/${discovered}?tab=candidates` },
    { name: 'capacity', path: '/platform/capacity' },
    { name: 'capacity-empty', path: '/platform/capacity', seed: 'empty' },
    { name: 'platform-allocations', path: '/platform/allocations' },
    { name: 'runs', path: '/platform/runs' },
    { name: 'platform-trace', path: `/platform/trace?id=${allocation('failed')}` },
    { name: 'platform-trace-nothing', path: '/platform/trace' },
    { name: 'platform-trace-no-id', path: '/platform/trace?id=no' },
    { name: 'platform-audit', path: '/platform/audit' },
    { name: 'setup', path: '/site' },
    { name: 'setup-empty', path: '/site', seed: 'empty' },
    ...tabs('catalog', '/site/catalog', ['regions', 'skus', 'images', 'pools']),
    { name: 'catalog-sku', path: `/site/catalog?tab=skus&sku=${SLICE_SKU}` },
    { name: 'catalog-image', path: '/site/catalog?tab=images&image=ubuntu-24.04-h200-cuda' },
    { name: 'site-file', path: '/site/file' },
    { name: 'site-file-empty', path: '/site/file', seed: 'empty' },
    { name: 'requests', path: '/site/requests?show=all' },
    { name: 'organizations', path: '/site/organizations' },
    { name: 'organization-gpus', path: `/site/organizations?organization=${cast.organization_id}` },
    ...tabs('site-access', '/site/access', ['sign-up', 'groups']),
    { name: 'site-no-permission', path: '/site/catalog', as: 'viewer' },
    ...tabs('settings', '/settings', ['profile', 'sessions', 'tokens', 'ssh-keys']),
    { name: 'no-permission', path: '/platform/nodes', as: 'viewer' },
    { name: 'not-found', path: '/nowhere/at/all' },
    { name: 'signed-out', path: '/signed-out' },
  ]);
};

/** Time stands still in it: the speed of the computer must not affect the content. */
export const addressOf = ({ path, as, seed }: Route): string => {
  const options = new URLSearchParams({
    speed: '0',
    ...(as === undefined ? {} : { as }),
    ...(seed === undefined ? {} : { seed }),
  });
  return `${path}#${options}`;
};
