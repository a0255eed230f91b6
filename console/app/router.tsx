/**
 * Every page of the console and its address. Addresses hold the state of a page, so that a view can be shared. The code
 * of a page is loaded on its first visit.
 */
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from '@tanstack/react-router';
import type { Backend } from './api/client.ts';
import { ConsoleGate } from './shell/gate.tsx';
import { NotFoundPage } from './shell/not-found.tsx';
import { PageFailure } from './shell/page-failure.tsx';
import { PlatformScope, ProjectScope } from './shell/scope.tsx';
import { parseSearch, stringifySearch, textSearch } from './shell/search.ts';
import { SignedOutPage } from './shell/signed-out.tsx';

export type RouterContext = Readonly<{ backend: Backend; queries: QueryClient }>;

const rootRoute = createRootRouteWithContext<RouterContext>()({ component: Outlet, notFoundComponent: NotFoundPage });
const signedOut = createRoute({ getParentRoute: () => rootRoute, path: '/signed-out', component: SignedOutPage });
const gate = createRoute({ getParentRoute: () => rootRoute, id: 'console', component: ConsoleGate });

const home = createRoute({
  getParentRoute: () => gate,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview/home-page.tsx'), 'HomePage'),
});

const project = createRoute({ getParentRoute: () => gate, path: '/projects/$projectId', component: ProjectScope });
const overview = createRoute({
  getParentRoute: () => project,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview/overview-page.tsx'), 'OverviewPage'),
});
const launch = createRoute({
  getParentRoute: () => project,
  path: '/launch',
  validateSearch: textSearch(
    'shape',
    'sku',
    'region',
    'gpus',
    'image',
    'profile',
    'keys',
    'hours',
    'name',
    'tags',
    'protected',
  ),
  component: lazyRouteComponent(() => import('./pages/launch/launch-page.tsx'), 'LaunchPage'),
});
const allocations = createRoute({
  getParentRoute: () => project,
  path: '/allocations',
  validateSearch: textSearch('state', 'q'),
  component: lazyRouteComponent(() => import('./pages/allocations/allocations-page.tsx'), 'AllocationsPage'),
});
const allocation = createRoute({
  getParentRoute: () => project,
  path: '/allocations/$allocationId',
  validateSearch: textSearch('tab'),
  component: lazyRouteComponent(() => import('./pages/allocations/allocation-page.tsx'), 'AllocationPage'),
});
const usage = createRoute({
  getParentRoute: () => project,
  path: '/usage',
  component: lazyRouteComponent(() => import('./pages/usage/usage-page.tsx'), 'UsagePage'),
});
const projectTrace = createRoute({
  getParentRoute: () => project,
  path: '/trace',
  validateSearch: textSearch('id', 'sources'),
  component: lazyRouteComponent(() => import('./pages/trace/trace-page.tsx'), 'ProjectTracePage'),
});
const projectAccess = createRoute({
  getParentRoute: () => project,
  path: '/access',
  validateSearch: textSearch('tab', 'account'),
  component: lazyRouteComponent(() => import('./pages/access/project-access-page.tsx'), 'ProjectAccessPage'),
});

const organization = createRoute({
  getParentRoute: () => gate,
  path: '/organizations/$organizationId',
  validateSearch: textSearch('tab'),
  component: lazyRouteComponent(() => import('./pages/access/organization-page.tsx'), 'OrganizationPage'),
});
const organizationLimits = createRoute({
  getParentRoute: () => gate,
  path: '/organizations/$organizationId/limits',
  component: lazyRouteComponent(() => import('./pages/access/limits-page.tsx'), 'LimitsPage'),
});
const organizationAudit = createRoute({
  getParentRoute: () => gate,
  path: '/organizations/$organizationId/audit',
  validateSearch: textSearch('action', 'actor', 'target', 'project', 'result', 'correlation', 'since', 'until'),
  component: lazyRouteComponent(() => import('./pages/access/audit-page.tsx'), 'OrganizationAuditPage'),
});

const platform = createRoute({ getParentRoute: () => gate, path: '/platform', component: PlatformScope });
const nodes = createRoute({
  getParentRoute: () => platform,
  path: '/nodes',
  validateSearch: textSearch('q', 'region', 'state', 'occupancy', 'health', 'slot', 'attention', 'add'),
  component: lazyRouteComponent(() => import('./pages/nodes/nodes-page.tsx'), 'NodesPage'),
});
const node = createRoute({
  getParentRoute: () => platform,
  path: '/nodes/$nodeId',
  validateSearch: textSearch('tab', 'slot', 'state', 'level', 'correlation', 'since'),
  component: lazyRouteComponent(() => import('./pages/nodes/node-page.tsx'), 'NodePage'),
});
const capacity = createRoute({
  getParentRoute: () => platform,
  path: '/capacity',
  validateSearch: textSearch('region', 'model', 'span'),
  component: lazyRouteComponent(() => import('./pages/capacity/capacity-page.tsx'), 'CapacityPage'),
});
const platformAllocations = createRoute({
  getParentRoute: () => platform,
  path: '/allocations',
  validateSearch: textSearch('state', 'node', 'organization'),
  component: lazyRouteComponent(() => import('./pages/platform/allocations-page.tsx'), 'PlatformAllocationsPage'),
});
const runs = createRoute({
  getParentRoute: () => platform,
  path: '/runs',
  validateSearch: textSearch('state', 'subject', 'workflow'),
  component: lazyRouteComponent(() => import('./pages/platform/runs-page.tsx'), 'RunsPage'),
});
const platformTrace = createRoute({
  getParentRoute: () => platform,
  path: '/trace',
  validateSearch: textSearch('id', 'sources'),
  component: lazyRouteComponent(() => import('./pages/trace/trace-page.tsx'), 'PlatformTracePage'),
});
const platformAudit = createRoute({
  getParentRoute: () => platform,
  path: '/audit',
  validateSearch: textSearch('action', 'actor', 'target', 'organization', 'result', 'correlation', 'since', 'until'),
  component: lazyRouteComponent(() => import('./pages/access/audit-page.tsx'), 'PlatformAuditPage'),
});

const site = createRoute({ getParentRoute: () => gate, path: '/site', component: PlatformScope });
const setup = createRoute({
  getParentRoute: () => site,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/site/setup-page.tsx'), 'SetupPage'),
});
const catalog = createRoute({
  getParentRoute: () => site,
  path: '/catalog',
  validateSearch: textSearch('tab', 'sku', 'image'),
  component: lazyRouteComponent(() => import('./pages/site/catalog-page.tsx'), 'CatalogPage'),
});
const siteFile = createRoute({
  getParentRoute: () => site,
  path: '/file',
  component: lazyRouteComponent(() => import('./pages/site/file-page.tsx'), 'SiteFilePage'),
});
const siteAccess = createRoute({
  getParentRoute: () => site,
  path: '/access',
  validateSearch: textSearch('tab'),
  component: lazyRouteComponent(() => import('./pages/site/access-page.tsx'), 'SiteAccessPage'),
});
const requests = createRoute({
  getParentRoute: () => site,
  path: '/requests',
  validateSearch: textSearch('show'),
  component: lazyRouteComponent(() => import('./pages/site/requests-page.tsx'), 'RequestsPage'),
});
const organizations = createRoute({
  getParentRoute: () => site,
  path: '/organizations',
  validateSearch: textSearch('organization'),
  component: lazyRouteComponent(() => import('./pages/site/organizations-page.tsx'), 'OrganizationsPage'),
});

const settings = createRoute({
  getParentRoute: () => gate,
  path: '/settings',
  validateSearch: textSearch('tab'),
  component: lazyRouteComponent(() => import('./pages/settings/settings-page.tsx'), 'SettingsPage'),
});

/** Inside the frame, so that the navigation stays available. */
const nowhere = createRoute({ getParentRoute: () => gate, path: '$', component: NotFoundPage });

const routeTree = rootRoute.addChildren([
  signedOut,
  gate.addChildren([
    home,
    project.addChildren([overview, launch, allocations, allocation, usage, projectTrace, projectAccess]),
    organization,
    organizationLimits,
    organizationAudit,
    platform.addChildren([nodes, node, capacity, platformAllocations, runs, platformTrace, platformAudit]),
    site.addChildren([setup, catalog, siteFile, siteAccess, requests, organizations]),
    settings,
    nowhere,
  ]),
]);

export const createConsoleRouter = (context: RouterContext) =>
  createRouter({
    routeTree,
    context,
    parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    defaultNotFoundComponent: NotFoundPage,
    defaultErrorComponent: PageFailure,
    scrollRestoration: true,
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
