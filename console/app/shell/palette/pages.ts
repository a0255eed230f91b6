/** Every page that the user may see, by the words that people use for it. */
import type { Me } from '@gpuaas/sdk';
import { refusalOf } from '../../api/me.tsx';
import { action, type Entry, page } from './entry.ts';

const projectPages = (id: string, name: string): readonly Entry[] => {
  const base = `/projects/${id}`;
  return [
    page('Overview', base, ['dashboard', 'home', 'attention', 'cost', 'quota'], name),
    page('Launch', `${base}/launch`, ['new allocation', 'create', 'start', 'rent', 'deploy', 'gpu'], name),
    page('Allocations', `${base}/allocations`, ['machines', 'instances', 'vms', 'slices', 'servers'], name),
    page('Usage', `${base}/usage`, ['cost', 'billing', 'invoice', 'money', 'spend'], name),
    page('Project members', `${base}/access?tab=members`, ['access', 'people', 'roles', 'team', 'share'], name),
    page('Service accounts', `${base}/access?tab=service-accounts`, ['robots', 'ci', 'client secret', 'access'], name),
    page('Trace', `${base}/trace`, ['trace', 'correlation', 'incident', 'timeline', 'debug', 'stuck'], name),
  ];
};

const organizationPages = (me: Me, { id, display_name }: Me['organizations'][number]): readonly Entry[] => {
  const base = `/organizations/${id}`;
  return [
    page('Projects', `${base}?tab=projects`, ['organization', 'new project'], display_name),
    page('Organization members', `${base}?tab=members`, ['people', 'roles', 'team', 'users'], display_name),
    page('Invitations', `${base}?tab=invitations`, ['invite', 'people'], display_name),
    page('Access policy', `${base}?tab=policy`, ['recording', 'idle', 'sessions', 'security'], display_name),
    page('Limits', `${base}/limits`, ['maximum', 'quota', 'usage', 'request more', 'gpu limit'], display_name),
    ...(refusalOf(me, 'audit.read', { organization: id }) === null
      ? [page('Audit', `${base}/audit`, ['log', 'history', 'who did what', 'export'], display_name)]
      : []),
  ];
};

const platformPages = (me: Me): readonly Entry[] =>
  refusalOf(me, 'admin.node.read') !== null
    ? []
    : [
        page('Nodes', '/platform/nodes', ['hosts', 'slot map', 'fleet', 'rack', 'servers'], 'Platform'),
        page('Capacity', '/platform/capacity', ['fragmentation', 'history', 'free', 'sku'], 'Platform'),
        page('All allocations', '/platform/allocations', ['tenants', 'customers'], 'Platform'),
        page('Runs', '/platform/runs', ['workflows', 'stuck', 'retry'], 'Platform'),
        page('Trace', '/platform/trace', ['trace', 'correlation', 'incident', 'debug', 'stuck'], 'Platform'),
        page('Platform audit', '/platform/audit', ['log', 'history', 'verify', 'chain'], 'Platform'),
      ];

const sitePages = (me: Me): readonly Entry[] =>
  refusalOf(me, 'admin.node.read') !== null
    ? []
    : [
        page('Setup', '/site', ['site health', 'doctor', 'checks', 'first start', 'backup'], 'Site'),
        page('Regions', '/site/catalog?tab=regions', ['catalog', 'locations', 'wipe level'], 'Site'),
        page('SKUs', '/site/catalog?tab=skus', ['catalog', 'prices', 'vm profiles', 'offer'], 'Site'),
        page('Images', '/site/catalog?tab=images', ['catalog', 'operating systems', 'digest', 'trust'], 'Site'),
        page('Pools', '/site/catalog?tab=pools', ['catalog', 'dedicated', 'nodes'], 'Site'),
        page('Site file', '/site/file', ['yaml', 'export', 'plan', 'apply', 'version control', 'upload'], 'Site'),
        page('Requests', '/site/requests', ['approve', 'reject', 'sign-up requests', 'quota requests'], 'Site'),
        page('Organizations', '/site/organizations', ['tenants', 'customers', 'gpu limits', 'quota'], 'Site'),
        page('Sign-up policy', '/site/access?tab=sign-up', ['registration', 'mail domains', 'invited'], 'Site'),
        page('Group mappings', '/site/access?tab=groups', ['issuer', 'roles', 'sync', 'claims'], 'Site'),
      ];

const SETTINGS: readonly Entry[] = [
  page('Settings', '/settings', ['profile', 'me', 'account', 'preferences', 'theme'], 'Account'),
  page('Browser sessions', '/settings?tab=sessions', ['signed in', 'devices', 'sign out everywhere'], 'Account'),
  page('API tokens', '/settings?tab=tokens', ['credentials', 'cli', 'secret', 'key'], 'Account'),
  page('SSH keys', '/settings?tab=ssh-keys', ['public key', 'fingerprint'], 'Account'),
];

const ACTIONS: readonly Entry[] = [
  action('copy_address', 'Copy page address', ['link', 'share', 'url']),
  action('show_shortcuts', 'Show keyboard shortcuts', ['help', 'keys', '?']),
  action('theme_light', 'Theme: light', ['switch', 'bright', 'appearance']),
  action('theme_dark', 'Theme: dark', ['switch', 'night', 'appearance']),
  action('theme_auto', 'Theme: system', ['switch', 'auto', 'appearance']),
  action('sign_out', 'Sign out', ['log out', 'leave', 'quit']),
];

export const pageEntries = (me: Me, projectId: string | null): readonly Entry[] => {
  const project = me.projects.find(({ id }) => id === projectId);
  const organization = me.organizations.find(({ id }) => id === project?.organization_id) ?? me.organizations[0];
  const nameOf = (id: string) => me.organizations.find((one) => one.id === id)?.display_name;
  return [
    ...(project === undefined ? [] : projectPages(project.id, project.name)),
    ...platformPages(me),
    ...sitePages(me),
    ...(organization === undefined ? [] : organizationPages(me, organization)),
    ...SETTINGS,
    ...ACTIONS,
    ...me.projects.map(
      ({ id, name, organization_id }): Entry => ({
        key: `project ${id}`,
        group: 'Projects',
        label: name,
        aliases: ['project', 'switch'],
        detail: nameOf(organization_id),
        goesTo: { href: `/projects/${id}` },
      }),
    ),
  ];
};
