/** Command lines about sign-up, quota requests and groups. */
import { REFUSALS } from '../../server/src/domain/sentences.ts';
import { Refusal } from './api.ts';
import type { Case } from './case.ts';
import { answers } from './fixtures.ts';
import { blockedPlan, noChanges, siteIds } from './fixtures-site.ts';

const T = '--no-json';
const CONTACT = 'gpu-team@example.com';

const line = (name: string, command: string, more: Partial<Case> = {}): Case => ({
  name,
  args: command.split(' '),
  ...more,
});

const waiting = {
  ...answers.meGet,
  organizations: [],
  projects: [],
  state: 'pending' as const,
  sign_up_request: {
    id: siteIds.signUpRequest,
    state: 'pending' as const,
    reason: null,
    created_at: '2026-11-15T10:03:21.000Z',
  },
};
const signsIn = { organizationList: { items: [], next_cursor: null } };

const SITE_YAML = `version: 1
regions:
  - name: us-buffalo-1
    display_name: Buffalo
    enabled: false
`;
const files = { 'site.yaml': SITE_YAML };
const PLAN = `admin site plan -f site.yaml ${T}`;
const APPLY = `admin site apply -f site.yaml --hash 0b1d5c0f9e7a2466 ${T}`;
const problems = new Refusal(400, 'invalid_request', REFUSALS.site_file_problems(2), {
  errors: [
    { pointer: '/body/site/regions/0/disabled_reason', code: 'required', message: 'is required while disabled' },
    { pointer: '/body/site/regions/0/display_name', code: 'pattern', message: 'must be printable text' },
  ],
});

const SYNC = 'admin group sync --file members.json';
const EXPORTED = {
  files: {
    'members.json': JSON.stringify({
      issuer: 'https://login.example.com/realms/gpuaas',
      exported_at: '2026-11-15T10:00:00Z',
      groups: { '/research': ['3c1f0e2a-ada', '9b7d-grace'], '/viewers': [] },
    }),
  },
};

export const siteCases: readonly Case[] = [
  line('admin-site-export', `admin site export ${T}`),
  line('admin-site-export-json', 'admin site export --json'),
  line('admin-site-plan', PLAN, { files }),
  line('admin-site-plan-nothing', PLAN, { files, answers: { adminSitePlan: noChanges } }),
  line('admin-site-plan-blocked', PLAN, { files, answers: { adminSitePlan: blockedPlan } }),
  line('admin-site-plan-problems', PLAN, { files, answers: { adminSitePlan: problems } }),
  line('admin-site-plan-no-file', PLAN),
  line('admin-site-plan-bad-yaml', PLAN, { files: { 'site.yaml': 'version: 1\nregions:\n  - name: a\n   b: [\n' } }),
  line('admin-site-plan-empty', PLAN, { files: { 'site.yaml': '' } }),
  line('admin-site-apply', APPLY, { files }),
  line('admin-site-apply-nothing', APPLY, { files, answers: { adminSiteApply: noChanges } }),
  line('admin-site-apply-no-hash', `admin site apply -f site.yaml ${T}`, { files }),
  line('admin-site-apply-changed', APPLY, {
    files,
    answers: { adminSiteApply: new Refusal(409, 'conflict', REFUSALS.site_changed) },
  }),
  line('quota-request', `quota request --gpus 64 --reason vision ${T}`),
  line('quota-request-open', `quota request --gpus 64 --reason vision ${T}`, {
    answers: { quotaRequestCreate: new Refusal(409, 'already_exists', REFUSALS.quota_request_open) },
  }),
  line('quota-requests', `quota requests ${T}`),
  line('quota-withdraw', `quota withdraw ${siteIds.quotaRequest} --yes ${T}`),
  line('quota-withdraw-needs-yes', `quota withdraw ${siteIds.quotaRequest} ${T}`),
  line('admin-quota-request-list', `admin quota-request list --state open ${T}`),
  line(
    'admin-quota-request-approve',
    `admin quota-request approve ${siteIds.quotaRequest} --gpus 32 --reason January ${T}`,
  ),
  line('admin-quota-request-reject', `admin quota-request reject ${siteIds.quotaRequest} --reason full ${T}`),
  line('admin-site-policy-get', `admin site-policy get ${T}`),
  line(
    'admin-site-policy-update',
    `admin site-policy update --sign-up open --mail-domain Example.com --default-gpus 8 ${T}`,
  ),
  line('admin-site-policy-update-nothing', `admin site-policy update ${T}`),
  line('admin-sign-up-request-list', `admin sign-up-request list --state pending ${T}`),
  line('admin-sign-up-request-approve', `admin sign-up-request approve ${siteIds.signUpRequest} ${T}`),
  line('admin-sign-up-request-reject', `admin sign-up-request reject ${siteIds.signUpRequest} --reason unknown ${T}`),
  line('admin-organization-create', `admin organization create acme --owner-email ada@example.org --gpus 16 ${T}`),
  line('admin-organization-create-no-owner', `admin organization create acme ${T}`),
  line('organization-create-by-operator', `organization create acme ${T}`, {
    answers: {
      organizationCreate: new Refusal(403, 'policy_denied', REFUSALS.organization_by_operator(CONTACT)),
    },
  }),
  line('admin-group-mapping-list', `admin group-mapping list ${T}`),
  line('admin-group-mapping-create', `admin group-mapping create /research --in-organization acme --role member ${T}`),
  line('admin-group-mapping-delete-group', `admin group-mapping delete /research --yes ${T}`),
  line('admin-group-mapping-delete-unknown', `admin group-mapping delete research --yes ${T}`),
  line('admin-group-mapping-delete', `admin group-mapping delete ${siteIds.mapping} --yes ${T}`),
  line('admin-group-sync', `admin group sync ${T}`),
  line('admin-group-sync-plan', `${SYNC} --plan ${T}`, EXPORTED),
  line('admin-group-sync-plan-json', `${SYNC} --plan`, EXPORTED),
  line('admin-group-sync-warnings', `${SYNC} --yes ${T}`, EXPORTED),
  line('admin-group-sync-file', `${SYNC} --yes --accept-warnings ${T}`, EXPORTED),
  line('admin-group-sync-hash', `${SYNC} --hash 5f0c9a1be2d47763 ${T}`, EXPORTED),
  line('admin-group-sync-cut', `${SYNC} --plan ${T}`, { files: { 'members.json': '{ "issuer": "https://login' } }),
  line('admin-group-sync-no-file', `admin group sync --plan ${T}`),
  line('login-refused', `login --dev ${T}`, {
    answers: {
      meGet: new Refusal(403, 'policy_denied', REFUSALS.sign_up_invited('dev-admin@gpuaas.local', CONTACT)),
    },
  }),
  line('login-pending', `login --dev ${T}`, { answers: { meGet: waiting, ...signsIn } }),
  line('whoami-pending', `whoami ${T}`, { answers: { meGet: waiting } }),
  line('whoami-rejected', `whoami ${T}`, {
    answers: {
      meGet: {
        ...waiting,
        sign_up_request: { ...waiting.sign_up_request, state: 'rejected', reason: 'Unknown person.' },
      },
    },
  }),
];
