/**
 * Who may import whom: the boundaries of ARCHITECTURE.md as rules. A rule's comment is what its offender reads.
 * Tests may look wider than the code they test, so most rules leave them out.
 */
const TEST = '\\.test\\.ts$|^[^/]+/test/|/golden/';
const OURS = '^(contract|kit|scheduler|server|node-agent|sdk|cli|console|apps|lab|e2e|bench|tools)/';
const PRODUCT = '^(contract|kit|scheduler|server|node-agent|sdk|cli|console|apps)/';

/** `directory` may import of ours only what `allowed` names; packages and node:* stay free. */
const seesOnly = (name, comment, directory, allowed) => ({
  name,
  comment,
  severity: 'error',
  from: { path: directory, pathNot: TEST },
  to: { path: OURS, pathNot: allowed },
});

/** A layer of the server that must not know the named others. */
const layer = (name, comment, directory, forbidden) => ({
  name,
  comment,
  severity: 'error',
  from: { path: `^server/src/${directory}/`, pathNot: TEST },
  to: { path: `^server/src/(${forbidden})/` },
});

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Modules that import each other cannot be understood or tested apart.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'The other rules do not check an import that cannot be resolved.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    seesOnly(
      'contract-imports-nothing-of-ours',
      'Everything else is derived from the contract.',
      '^contract/',
      '^contract/',
    ),
    seesOnly(
      'kit-knows-no-domain',
      'Every process uses the kit, so it contains nothing of one process.',
      '^kit/',
      '^kit/',
    ),
    {
      name: 'scheduler-is-pure',
      comment: 'Placement is a function of its arguments: no clock, no random, no node:*, nothing of ours.',
      severity: 'error',
      from: { path: '^scheduler/src/', pathNot: TEST },
      to: { pathNot: '^scheduler/src/' },
    },
    {
      name: 'domain-is-pure',
      comment: 'States and rules are pure functions: they may import contract, kit, scheduler and node:crypto only.',
      severity: 'error',
      from: { path: '^server/src/domain/', pathNot: TEST },
      to: { pathNot: '^(server/src/domain|contract|kit|scheduler)/|^crypto$' },
    },
    layer(
      'db-knows-nothing-above-it',
      'Every layer above uses queries, so they import none of these layers.',
      'db',
      'http|node-api|gateway|roles|services|agents|identity|sessions|logs|sealing|pipeline|views|workflows|reconcilers|placement|ports',
    ),
    layer(
      'http-never-touches-db-or-ports',
      'A handler calls a service; the service owns transaction and effects.',
      'http',
      'db|ports|workflows|reconcilers|placement',
    ),
    layer(
      'node-api-never-touches-db-or-ports',
      'The node API calls services, as the HTTP API does; it shares only the parsers of that API.',
      'node-api',
      'db|ports|workflows|reconcilers|placement',
    ),
    layer(
      'gateway-never-touches-db-or-ports',
      'The gateway calls services; it shares parsers and the identification of hosts with the other listeners.',
      'gateway',
      'db|ports|workflows|reconcilers|placement',
    ),
    {
      name: 'http-does-not-know-node-api',
      comment: 'People and agents use different listeners.',
      severity: 'error',
      from: { path: '^server/src/http/', pathNot: TEST },
      to: { path: '^server/src/(node-api|gateway)/' },
    },
    layer(
      'services-do-not-know-http',
      'A service is called by any edge, not only by HTTP.',
      '(services|views|pipeline|identity|agents|sessions|logs|sealing)',
      'http|node-api|gateway|roles|reconcilers',
    ),
    layer(
      'only-services-know-services',
      'An operation is called by an edge; what operations share lies in a directory of its own.',
      '(pipeline|views|identity|agents|sessions|logs|sealing)',
      'services',
    ),
    layer(
      'workflows-never-import-services-or-http',
      'A workflow outlives the request that started it.',
      'workflows',
      'services|views|pipeline|identity|agents|sessions|http|node-api|gateway|roles|reconcilers',
    ),
    layer(
      'reconcilers-stand-alone',
      'A reconciler runs without a request: it may start workflows, use the keys of the agent channel and end access, but calls no operation.',
      'reconcilers',
      'services|views|pipeline|sessions|http|node-api|gateway|roles',
    ),
    layer(
      'ports-know-no-layer',
      'A port and its stand-in are interchangeable, so a port imports no layer.',
      'ports',
      'http|node-api|gateway|roles|services|views|pipeline|identity|agents|sessions|logs|sealing|workflows|reconcilers|placement|domain|db',
    ),
    {
      name: 'only-roles-wire',
      comment:
        'The roles know every layer, so only main.ts, which starts them, knows the roles, and nothing knows main.ts.',
      severity: 'error',
      from: { path: PRODUCT, pathNot: `${TEST}|^server/src/(main\\.ts$|roles/)` },
      to: { path: '^server/src/(main\\.ts$|roles/)' },
    },
    seesOnly(
      'server-sees-contract-kit-scheduler',
      'The server is one image: contract, kit, scheduler.',
      '^server/',
      '^(server|contract|kit|scheduler)/',
    ),
    seesOnly('agent-sees-contract-and-kit', 'The agent runs on hosts.', '^node-agent/', '^(node-agent|contract|kit)/'),
    seesOnly('sdk-stands-alone', 'The SDK is published alone.', '^sdk/', '^sdk/'),
    seesOnly('cli-sees-sdk-and-scheduler', 'The command uses what every user has.', '^cli/', '^(cli|sdk|scheduler)/'),
    seesOnly(
      'console-sees-the-sdk',
      'The console is an API user like any other.',
      '^console/(?!mock-api/)',
      '^(console|sdk)/',
    ),
    seesOnly(
      'mock-api-sees-pure-rules',
      'The mock satisfies the contract and decides by the same pure rules as the server: it sees nothing that needs a process or a database.',
      '^console/mock-api/',
      '^(console|contract|sdk|scheduler|server/src/domain)/',
    ),
    seesOnly('apps-see-only-the-sdk', 'Apps are deployed by others, apart from us.', '^apps/', '^(apps/[^/]+|sdk)/'),
    {
      name: 'apps-do-not-see-each-other',
      comment: 'Each app has its own version and image.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'product-does-not-need-the-workshop',
      comment: 'What ships must run without tests, lab, benches and tools.',
      severity: 'error',
      from: { path: PRODUCT, pathNot: TEST },
      to: { path: '^(lab|e2e|bench|tools|server/test)/' },
    },
    {
      name: 'product-declares-its-packages',
      comment: 'A development package is missing where the product runs. No shipped build contains the mock.',
      severity: 'error',
      from: { path: PRODUCT, pathNot: `${TEST}|^[^/]+/[^/]+\\.config\\.ts$|^console/(mock-api|demo)/` },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js', '.json', '.d.ts'],
    },
  },
};
