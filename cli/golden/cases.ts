/** The command lines of the golden tests. `--no-json` shows the output for a person; without it the output is JSON. */
import { REFUSALS } from '../../server/src/domain/sentences.ts';
import { Refusal } from './api.ts';
import type { Case } from './case.ts';
import { agentCases } from './cases-agent.ts';
import { catalogCases } from './cases-catalog.ts';
import { certificateCases } from './cases-certificate.ts';
import { inventoryCases } from './cases-inventory.ts';
import { placementCases } from './cases-placement.ts';
import { powerCases } from './cases-power.ts';
import { sessionCases } from './cases-session.ts';
import { setupCases } from './cases-setup.ts';
import { siteCases } from './cases-site.ts';
import { topologyCases } from './cases-topology.ts';
import { traceCases } from './cases-trace.ts';
import { answers, ids, run } from './fixtures.ts';
import { notEverywhere } from './fixtures-catalog.ts';

const T = '--no-json';
const { organization, enterprise, project, otherUser, token, account, key, invitation, run: runId } = ids;
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJrdGRbsSxk3+uIc8C0krx3ud23UwpFcNjjs36R6CLvp ada@laptop\n';
const profile = (more: string) =>
  `default_profile = "default"\n\n[profiles.default]\nurl = "URL"\norganization = "${organization}"\nproject = "${project}"\n${more}`;

/** A profile of another site, with defaults that exist only there. */
const ELSEWHERE = `default_profile = "default"\n\n[profiles.default]\nurl = "https://elsewhere.example"\norganization = "${enterprise}"\nproject = "prj_01k9zv3m8q4t6w2x5y7r0s1n9z"\n`;

const line = (name: string, command: string, more: Partial<Case> = {}): Case => ({
  name,
  args: command.split(' '),
  ...more,
});

/** Outside the ephemeral port range, so nothing listens there. */
const CLOSED = 'http://127.0.0.1:61999';

export const cases: readonly Case[] = [
  { name: 'help', args: [] },
  line('help-noun', 'project --help'),
  line('help-verb', 'admin workflow-run cancel --help'),
  line('version', `version ${T}`),
  line('completion-bash', `completion bash ${T}`),
  line('completion-zsh', `completion zsh ${T}`),
  line('completion-fish', `completion fish ${T}`),
  line('complete-nouns', '__complete -- s'),
  line('complete-values', '__complete -- admin user update usr_1 --state '),

  line('whoami', `whoami ${T}`),
  line('whoami-json', 'whoami'),
  line('organization-list', `organization list ${T}`),
  line('organization-get', `organization get --org acme ${T}`, {
    answers: { organizationGet: answers.organizationCreate },
  }),
  line('organization-create', `organization create acme ${T}`),
  line('organization-update', `organization update --display-name Ada ${T}`),
  line('organization-limit-list', `organization limit list ${T}`),
  line('organization-member-list', `organization member list ${T}`),
  line('organization-member-update', `organization member update ada@example.org --role viewer ${T}`),
  line('organization-member-remove', `organization member remove grace@example.org --yes ${T}`),
  line('invitation-list', `invitation list ${T}`),
  line('invitation-create', `invitation create grace@example.org --role member --expires-in 2d ${T}`),
  line('invitation-revoke', `invitation revoke ${invitation} --yes ${T}`),
  line('invitation-accept', `invitation accept inv-secret-0123456789 ${T}`),

  line('project-list', `project list ${T}`),
  line('project-list-json', 'project list --limit 1', {
    answers: { projectList: { ...answers.projectList, next_cursor: 'more' } },
    config: profile('token = "gp_test"\n'),
  }),
  line('project-get', `project get ${T}`, { config: profile('token = "gp_test"\n') }),
  { name: 'project-create', args: ['project', 'create', 'research', '--display-name', 'Research group', T] },
  line('project-create-json', 'project create research --org acme --idempotency-key my-key-0001'),
  line('project-update-recording', `project update default --require-recording yes --record-terminals no ${T}`),
  line('project-update-nothing', `project update default ${T}`),
  line('project-update', `project update default --display-name x ${T}`),
  line('project-update-if-match', `project update ${project} --display-name x --if-match 9 --json`, {
    answers: { projectUpdate: new Refusal(412, 'precondition_failed', REFUSALS.changed(3)) },
  }),
  line('project-delete', `project delete ${project} --yes ${T}`),
  line('project-delete-needs-yes', `project delete ${project} ${T}`),
  line('project-use', `project use default --org ada ${T}`),
  line('project-member-list', `project member list ${T}`),
  line('project-member-put', `project member put grace@example.org --role member ${T}`),
  line('project-member-remove', `project member remove ${otherUser} --yes ${T}`),

  line('token-list', `token list ${T}`),
  line('token-create', `token create ci --scope read --scope service_account.* --expires-in 90d ${T}`),
  line('token-create-json', `token create ci --project default --json`),
  line('web-session-list', `web-session list ${T}`),
  line('web-session-list-json', 'web-session list'),
  line('web-session-revoke', `web-session revoke ${ids.webSession} --yes ${T}`),
  line('token-revoke', `token revoke ci --yes ${T}`),
  line('token-revoke-ambiguous', `token revoke ci --yes ${T}`, {
    answers: {
      apiTokenList: { items: [...answers.apiTokenList.items, ...answers.apiTokenList.items], next_cursor: null },
    },
  }),
  line('service-account-list', `service-account list ${T}`),
  line('service-account-get', `service-account get robot ${T}`),
  line('service-account-create', `service-account create robot --description jobs ${T}`),
  line('service-account-update', `service-account update ${account} --state disabled ${T}`),
  line('service-account-delete', `service-account delete robot --yes ${T}`),
  line('service-account-rotate', `service-account rotate robot --overlap 1h ${T}`),
  line('service-account-token-list', `service-account token list robot ${T}`),
  line('service-account-token-create', `service-account token create robot ci ${T}`),
  line('service-account-token-revoke', `service-account token revoke robot ${token} --yes ${T}`),
  line('ssh-key-list', `ssh-key list ${T}`),
  line('ssh-key-add', `ssh-key add laptop id.pub ${T}`, { files: { 'id.pub': KEY } }),
  line('ssh-key-add-stdin', 'ssh-key add laptop -', { stdin: KEY }),
  line('ssh-key-add-private', `ssh-key add laptop id ${T}`, {
    files: { id: '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n' },
  }),
  line('ssh-key-get', `ssh-key get laptop ${T}`),
  line('ssh-key-delete', `ssh-key delete ${key} --yes ${T}`),

  ...placementCases,
  ...catalogCases,
  ...powerCases,
  ...sessionCases,
  ...agentCases,
  ...inventoryCases,
  ...topologyCases,
  ...siteCases,
  ...certificateCases,
  ...traceCases,
  ...setupCases,

  line('region-list', `region list ${T}`),
  line('sku-list', `sku list ${T}`),
  line('sku-list-json', 'sku list --shape gpu_slice'),
  line('sku-get', `sku get h200-sxm-slice ${T}`),
  line('image-list', `image list --sku h200-sxm-slice ${T}`),
  line('image-get', `image get ubuntu-24.04-h200-cuda ${T}`),

  line('events', `events ${T}`),
  line('events-organization', `events --all-projects ${T}`),
  line('events-organization-follow', `events --all-projects --follow --type quota.decided ${T}`, {
    interruptAfter: 'quota.decided',
  }),
  line('events-follow', `events --follow --after evt_1 ${T}`, { interruptAfter: 'project.created' }),
  line('events-follow-gone', `events --follow --after evt_1 ${T}`, {
    answers: { eventStream: new Refusal(410, 'gone', REFUSALS.events_gone) },
  }),
  line('events-follow-json', 'events --follow', { interruptAfter: '\n' }),
  line('admin-events', `admin events --type project.created ${T}`, { interruptAfter: 'project.created' }),
  line('workflow-run-list', `workflow-run list --state stuck ${T}`),
  line('workflow-run-get', `workflow-run get ${runId} ${T}`),
  line('workflow-run-steps', `workflow-run steps ${runId} ${T}`),
  line('audit-list', `audit list --result denied --since 2026-11-15T00:00:00Z ${T}`, {
    answers: {
      auditLogList: {
        ...answers.auditLogList,
        items: answers.auditLogList.items.slice(1),
        archived_until: '2026-11-15T10:03:21.000Z',
      },
    },
  }),
  line('audit-export', `audit export --action project.create`),
  line('audit-export-file', `audit export --output rows.jsonl ${T}`),

  line('admin-audit-list', `admin audit list --in-organization ${organization} ${T}`),
  line('admin-audit-verify', `admin audit verify ${T}`),
  line('admin-audit-verify-tampered', `admin audit verify ${T}`, {
    answers: {
      adminAuditLogVerify: {
        ...answers.adminAuditLogVerify,
        intact: false,
        chains: answers.adminAuditLogVerify.chains.slice(1).map((chain) => ({
          ...chain,
          findings: [{ kind: 'edited', sequence: 2, audit_log_id: null, detail: 'The row does not match its seal.' }],
        })),
      },
    },
  }),
  line('admin-user-list', `admin user list ${T}`),
  line('admin-user-get', `admin user get ${ids.user} ${T}`),
  line('admin-user-update', `admin user update ${ids.user} --state disabled --platform-role none ${T}`),
  line('admin-organization-list', `admin organization list --limit 2 ${T}`),
  line('admin-region-update', `admin region update eu-north-1 --disable --reason Maintenance. ${T}`),
  line('admin-sku-update', `admin sku update h200-sxm-slice --gpu-counts 1,2,4 ${T}`),
  line('admin-image-register', `admin image register catalog.json --sku h200-sxm-slice ${T}`, {
    files: { 'catalog.json': JSON.stringify(answers.osImageGet) },
  }),
  line(
    'admin-image-register-kernel',
    `admin image register catalog.json --sku h200-sxm-slice --boot-kind kernel ${T}`,
    {
      files: { 'catalog.json': JSON.stringify(answers.osImageGet) },
      answers: { adminOsImageRegister: { ...answers.adminOsImageRegister, ...notEverywhere } },
    },
  ),
  line('admin-image-register-nothing', `admin image register none.json --sku h200-sxm-slice ${T}`),
  line(
    'admin-image-retire',
    `admin image retire ubuntu-24.04-h200-cuda --digest ${answers.osImageGet.digest} --reason CVE --yes ${T}`,
  ),
  line('admin-workflow-run-list', `admin workflow-run list ${T}`),
  line('admin-workflow-run-get', `admin workflow-run get ${runId} ${T}`),
  line('admin-workflow-run-steps', `admin workflow-run steps ${runId} ${T}`),
  line('admin-workflow-run-retry', `admin workflow-run retry ${runId} --step wipe ${T}`),
  line('admin-workflow-run-retry-wait', `admin workflow-run retry ${runId} --wait ${T}`, {
    answers: {
      adminWorkflowRunGet: (count) => ({ ...run, state: count === 0 ? 'running' : 'done', state_reason: null }),
    },
  }),
  line('admin-workflow-run-retry-stuck', `admin workflow-run retry ${runId} --wait ${T}`, {
    answers: { adminWorkflowRunGet: run },
  }),
  line('admin-workflow-run-retry-timeout', `admin workflow-run retry ${runId} --wait --timeout 1s ${T}`, {
    answers: { adminWorkflowRunGet: { ...run, state: 'running', state_reason: null } },
  }),
  line('admin-workflow-run-cancel', `admin workflow-run cancel ${runId} --reason enough --yes --json`),

  line('api-get', 'api me'),
  line('api-post', 'api POST ssh-keys -f name=laptop -F public_key="x"'),
  line('api-input', 'api PATCH /api/v1/projects/prj_1 --input - --if-match 3', { stdin: '{"display_name":"x"}' }),
  line('api-other-host', 'api //example.org/api/v1/me'),
  line('doctor', `doctor ${T}`),
  line('doctor-signed-out', 'doctor', { env: { GPUAAS_TOKEN: '' } }),
  line('doctor-unreachable', `doctor ${T}`, { env: { GPUAAS_URL: CLOSED } }),

  line('login-dev', `login --dev ${T}`),
  line('login-dev-wrong', 'login --dev --user dev-user', { env: { GPUAAS_DEV_PASSWORD: 'wrong guess' } }),
  line('login-fresh', `login --fresh ${T}`),
  line('login-device', `login ${T}`),
  line('login-token', 'login --token-stdin --profile ci', { stdin: 'gp_test\n' }),
  line('login-token-refused', `login --token-stdin ${T}`, { stdin: 'gp_unknown\n' }),
  line('logout', `logout ${T}`, { config: profile('token = "gp_test"\n') }),
  line('renews-its-token', `region list ${T}`, {
    config: profile(
      'issuer = "URL/oidc"\nclient_id = "gpuaas-cli"\naccess_token = "access-0"\nrefresh_token = "refresh-0"\nexpires_at = "2026-01-01T00:00:00.000Z"\n',
    ),
  }),
  line('sign-in-ended', `region list ${T}`, {
    config: profile(
      'issuer = "URL/oidc"\nclient_id = "gpuaas-cli"\naccess_token = "access-0"\nrefresh_token = "spent"\nexpires_at = "2026-01-01T00:00:00.000Z"\n',
    ),
  }),
  line('other-address-gets-no-token', `region list ${T}`, {
    config: 'default_profile = "default"\n\n[profiles.default]\nurl = "https://elsewhere.example"\ntoken = "gp_test"\n',
  }),
  line('other-address-gets-no-defaults', `project get ${T}`, { config: ELSEWHERE, env: { GPUAAS_TOKEN: 'gp_test' } }),
  line('other-address-project-use', `project use default ${T}`, {
    config: ELSEWHERE,
    env: { GPUAAS_TOKEN: 'gp_test' },
  }),
  line('other-address-project-use-implied', `project use default --org ada ${T}`, {
    config: 'default_profile = "default"\n\n[profiles.default]\ntoken = "gp_localhost"\n',
    env: { GPUAAS_TOKEN: 'gp_test' },
  }),
  line('same-address-project-use', `project use default --org ada ${T}`, {
    config: 'default_profile = "default"\n\n[profiles.default]\nurl = "URL/"\ntoken = "gp_test"\n',
  }),

  line('error-not-found', `sku get h100 ${T}`, { answers: { skuGet: new Refusal(404, 'not_found', 'No such SKU.') } }),
  line('error-launch-unknown-sku', `launch train --sku h100 --region eu-north-1 --gpus 4 ${T}`, {
    answers: { allocationCreate: new Refusal(404, 'not_found', 'No SKU named "h100".') },
  }),
  line('error-usage-argument', `launch train --skus h100 ${T}`),
  line('error-not-found-json', 'sku get h100 --json', {
    answers: { skuGet: new Refusal(404, 'not_found', 'No such SKU.') },
  }),
  line('error-unauthenticated', `whoami ${T}`, { env: { GPUAAS_TOKEN: 'gp_expired' } }),
  line('error-fresh-sign-in', `admin trust stage task_signer --reason yearly ${T}`, {
    answers: {
      adminTrustKeyCreate: new Refusal(
        401,
        'fresh_sign_in_required',
        'This change needs a sign-in of the last 15 minutes. Yours is older.',
      ),
    },
  }),
  line('error-denied', `admin user list ${T}`, {
    answers: {
      adminUserList: new Refusal(
        403,
        'permission_denied',
        'Permission denied: no role of the caller holds admin.user.read.',
      ),
    },
  }),
  line('error-conflict', `project create research ${T}`, {
    answers: {
      projectCreate: new Refusal(409, 'already_exists', REFUSALS.project_name_taken('research'), {
        actions: [{ rel: 'existing', href: `/api/v1/projects/${project}`, text: 'See the existing project:' }],
      }),
    },
  }),
  line('error-transient', `whoami ${T}`, {
    answers: {
      meGet: new Refusal(429, 'rate_limited', 'Too many requests; wait 60 seconds.', {
        retry_after_s: 60,
        retryable: true,
      }),
    },
  }),
  line('error-fields', `project create Research ${T}`, {
    answers: {
      projectCreate: new Refusal(400, 'invalid_request', 'Invalid request: name must be lower case.', {
        errors: [{ pointer: '/body/name', code: 'pattern', message: 'must be lower case' }],
      }),
    },
  }),
  line('error-network', `region list ${T}`, { env: { GPUAAS_URL: CLOSED } }),
  line('error-usage', `project creat ${T}`),
  line('error-usage-json', 'project list --color'),
  line('error-which-project', `events ${T}`, {
    answers: { projectList: { items: ['a', 'b'].map((name) => ({ ...answers.projectGet, name })), next_cursor: null } },
  }),
  line('untrusted-text', `project list ${T}`, {
    answers: {
      projectList: {
        items: [{ ...answers.projectGet, display_name: 'a\u001b[2J\u001b]0;owned\u0007b\u202ec\nd\u0000' }],
        next_cursor: null,
      },
    },
  }),
  line('untrusted-error', `sku get x ${T}`, {
    answers: { skuGet: new Refusal(404, 'not_found', 'No \u001b[31msuch\u001b[0m SKU.\r') },
  }),
];
