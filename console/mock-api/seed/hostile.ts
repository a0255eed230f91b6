/**
 * The demo as an attacker would fill it to run scripts in an operator's page: markup in every name, tag, log line and
 * host report, also where the contract would refuse it. A safe page shows it as text.
 */
import type { World } from '../core/world.ts';

/** A page in which one of these ran has this name in its global object. */
export const XSS_MARK = '__gpuaas_xss';

const IMG = `<img src=x onerror="globalThis.${XSS_MARK}=1">`;
const SCRIPT = `"><script>globalThis.${XSS_MARK}=1</script>`;
const LINK = `javascript:globalThis.${XSS_MARK}=1`;

const people = (world: World): void => {
  for (const user of world.users.values()) user.name += IMG;
  for (const member of [...world.members, ...world.projectMembers]) {
    member.name += IMG;
    member.email = `${SCRIPT}@acme.example`;
  }
  for (const organization of world.organizations.values()) organization.display_name += SCRIPT;
  for (const project of world.projects.values())
    Object.assign(project, { name: `${project.name}${IMG}`, display_name: SCRIPT });
  for (const account of world.serviceAccounts.values()) account.description = IMG + SCRIPT;
  for (const token of world.tokens) token.name += IMG;
  for (const key of world.sshKeys.values())
    Object.assign(key, { name: `${key.name}${IMG}`, public_key: `${key.public_key} ${SCRIPT}` });
  for (const session of world.webSessions) session.user_agent = IMG;
};

const catalog = (world: World): void => {
  for (const region of world.regions) {
    region.display_name += IMG;
    if (region.disabled_reason !== null) region.disabled_reason = SCRIPT;
  }
  for (const sku of world.skus) sku.display_name += IMG;
  for (const image of world.images)
    Object.assign(image, { display_name: `${image.display_name}${SCRIPT}`, source: LINK });
  for (const pool of world.pools) pool.purpose = IMG;
};

const site = (world: World): void => {
  for (const request of world.quotaRequests) Object.assign(request, { reason: IMG, decision_reason: SCRIPT });
  for (const request of world.signUpRequests) Object.assign(request, { name: IMG, email: LINK, reason: SCRIPT });
  for (const mapping of world.groupMappings) Object.assign(mapping, { group: IMG, organization_name: SCRIPT });
  world.sitePolicy.contact = SCRIPT;
};

const allocations = (world: World): void => {
  for (const row of world.allocations.values()) {
    row.name += IMG;
    row.tags = { ...row.tags, [`team${IMG}`]: SCRIPT, link: LINK };
    row.host_key += IMG;
    if (row.state_reason !== null) row.state_reason += SCRIPT;
    if (row.power !== null) row.power.reason = IMG;
  }
  for (const run of world.runs.values()) {
    if (run.state_reason !== null) run.state_reason += IMG;
    for (const step of run.steps) step.detail = SCRIPT;
  }
};

const hosts = (world: World): void => {
  for (const node of world.nodes.values()) {
    node.name += IMG;
    node.state_reason = SCRIPT;
    node.agent_version = IMG;
    node.boot_id = SCRIPT;
    for (const alert of node.alerts) Object.assign(alert, { message: IMG, tenant_message: SCRIPT });
    for (const finding of node.findings) Object.assign(finding, { message: IMG, machine: SCRIPT });
    for (const machine of node.vms) machine.name += IMG;
    for (const unmet of node.unmet) unmet.message += SCRIPT;
    for (const found of node.found.values()) {
      found.nvme_mounts = [IMG];
      for (const blocker of found.blockers ?? []) blocker.message += SCRIPT;
    }
  }
  for (const slot of world.slots.values()) {
    if (slot.status_reason !== null) slot.status_reason += IMG;
    slot.nvme_serial += SCRIPT;
    if (slot.drift !== null) slot.drift = { [`nvme_serial${IMG}`]: { approved: SCRIPT, found: IMG } };
    slot.health_detail = { message: SCRIPT };
  }
};

const written = (world: World): void => {
  for (const task of world.tasks) Object.assign(task, { kind: `${task.kind}${IMG}`, state_reason: SCRIPT });
  for (const line of world.logs) Object.assign(line, { message: `${line.message}${IMG}`, fields: { [IMG]: SCRIPT } });
  for (const row of world.audit) Object.assign(row, { user_agent: IMG, metadata: { [SCRIPT]: IMG, link: LINK } });
};

export const makeHostile = (world: World): void => {
  site(world);
  people(world);
  catalog(world);
  allocations(world);
  hosts(world);
  written(world);
};
