/**
 * Converts TypeBox values to the components of a document. A schema that the contract exports has that name everywhere;
 * pages, request bodies and composed responses are named after their content, so that a reader sees names instead of
 * repeated objects.
 */
import type { TSchema } from 'typebox';
import { Action, Money, Problem } from '../common.ts';
import * as candidate from '../node/candidate.ts';
import * as facts from '../node/facts.ts';
import * as health from '../node/health.ts';
import * as inventory from '../node/inventory.ts';
import * as accessGrant from '../public/access-grant.ts';
import * as accessPolicy from '../public/access-policy.ts';
import * as adminAllocation from '../public/admin-allocation.ts';
import * as adminCapacity from '../public/admin-capacity.ts';
import * as adminDiscovery from '../public/admin-discovery.ts';
import * as adminDisk from '../public/admin-disk.ts';
import * as adminEnrollment from '../public/admin-enrollment.ts';
import * as adminGroupMapping from '../public/admin-group-mapping.ts';
import * as adminHealth from '../public/admin-health.ts';
import * as adminImage from '../public/admin-image.ts';
import * as adminInventory from '../public/admin-inventory.ts';
import * as adminLog from '../public/admin-log.ts';
import * as adminNode from '../public/admin-node.ts';
import * as adminNodeAgent from '../public/admin-node-agent.ts';
import * as adminNodeTask from '../public/admin-node-task.ts';
import * as adminPlatformKey from '../public/admin-platform-key.ts';
import * as adminSignUpRequest from '../public/admin-sign-up-request.ts';
import * as adminSite from '../public/admin-site.ts';
import * as adminSitePolicy from '../public/admin-site-policy.ts';
import * as adminSlot from '../public/admin-slot.ts';
import * as adminSlotMap from '../public/admin-slot-map.ts';
import * as adminTrust from '../public/admin-trust.ts';
import * as adminUser from '../public/admin-user.ts';
import * as allocation from '../public/allocation.ts';
import * as apiToken from '../public/api-token.ts';
import * as auditLog from '../public/audit-log.ts';
import * as capacity from '../public/capacity.ts';
import * as catalog from '../public/catalog.ts';
import * as event from '../public/event.ts';
import * as fabric from '../public/fabric.ts';
import * as invitation from '../public/invitation.ts';
import * as me from '../public/me.ts';
import * as organization from '../public/organization.ts';
import * as project from '../public/project.ts';
import * as quotaRequest from '../public/quota-request.ts';
import * as serviceAccount from '../public/service-account.ts';
import * as sshKey from '../public/ssh-key.ts';
import * as terminalSession from '../public/terminal-session.ts';
import * as trace from '../public/trace.ts';
import * as webSession from '../public/web-session.ts';
import * as wipeCertificate from '../public/wipe-certificate.ts';
import * as workflowRun from '../public/workflow-run.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

const modules = [
  ...[adminAllocation, adminCapacity, adminImage, adminPlatformKey, adminTrust, adminLog, adminUser],
  ...[adminNode, adminNodeAgent, adminEnrollment, adminNodeTask, adminDiscovery, adminDisk],
  ...[adminSlot, adminSlotMap, adminHealth, adminInventory],
  ...[candidate, facts, health, inventory],
  ...[allocation, wipeCertificate, terminalSession, accessGrant, accessPolicy],
  capacity,
  ...[adminSite, adminSitePolicy, adminSignUpRequest, adminGroupMapping, quotaRequest],
  { Action, Money, Problem },
  ...[me, organization, invitation, project, serviceAccount, apiToken, sshKey, webSession],
  ...[catalog, fabric, auditLog, event, trace, workflowRun],
];

/** Exported schemas by identity: the same object is the same component wherever it is used. */
const names: ReadonlyMap<unknown, string> = new Map(
  modules.flatMap((module) =>
    Object.entries(module)
      .filter(([name, value]) => /^[A-Z][A-Za-z]+$/.test(name) && typeof value === 'object' && 'type' in value)
      .map(([name, value]): [unknown, string] => [value, name]),
  ),
);

export const pascal = (text: string): string =>
  text.replace(/(?:^|[._-])([a-z])/g, (_, letter: string) => letter.toUpperCase());

export type Registry = Readonly<{
  /** The schema as it stands in a document: a reference if it has a name, or if one is given for it here. */
  use(schema: TSchema, name?: string): JsonObject;
  /** Everything referred to so far, sorted by name. */
  components(): JsonObject;
}>;

type Node = Readonly<Record<string, unknown>>;

const pageName = (schema: Node): string | undefined => {
  const properties = schema['properties'] as Record<string, Node> | undefined;
  const item = properties?.['next_cursor'] === undefined ? undefined : names.get(properties['items']?.['items']);
  return item === undefined ? undefined : `${item}Page`;
};

/** `X or null` in the short form of JSON Schema, which is easier for readers and generators than a union. */
const nullable = (branches: readonly JsonObject[]): JsonObject | undefined => {
  const [value, none] = branches;
  if (branches.length !== 2 || none?.['type'] !== 'null' || typeof value?.['type'] !== 'string') return undefined;
  const values = value['enum'];
  return { ...value, type: [value['type'], 'null'], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
};

export const createRegistry = (): Registry => {
  const components = new Map<string, JsonObject>();

  const refer = (name: string, schema: Node): JsonObject => {
    const body = spell(schema);
    const known = components.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(body))
      throw new Error(`Two different schemas are both named ${name}.`);
    components.set(name, body);
    return { $ref: `#/components/schemas/${name}` };
  };

  const convert = (value: unknown): Json => {
    if (Array.isArray(value)) return value.map(convert);
    if (typeof value !== 'object' || value === null) return value as Json;
    const name = names.get(value) ?? pageName(value as Node);
    return name === undefined ? spell(value as Node) : refer(name, value as Node);
  };

  const spell = (schema: Node): JsonObject => {
    const result: JsonObject = {};
    for (const [key, value] of Object.entries(schema)) {
      // Values of these are data or names, not schemas.
      const literal = ['enum', 'examples', 'default', 'const', 'required'].includes(key);
      result[key] = literal ? (structuredClone(value) as Json) : convert(value);
    }
    const branches = result['anyOf'];
    return Array.isArray(branches) ? (nullable(branches as JsonObject[]) ?? result) : result;
  };

  return {
    use: (schema, name) => {
      const node = schema as Node;
      const known = names.get(schema) ?? pageName(node) ?? name;
      return known === undefined ? spell(node) : refer(known, node);
    },
    components: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
};
