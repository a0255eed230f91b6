/** Scenarios of access to allocations: tickets, sessions, grants and the organization's policy. */
import { randomUUID } from 'node:crypto';
import { aGrant, aRecordedSession, aSession } from './access.ts';
import type { Scenarios } from './scenario.ts';
import { newActive } from './scenarios-allocation.ts';
import { must, newSshKey, type Tenants } from './tenants.ts';

/** A running slice, and its owner at its path. */
const atActive = async (tenants: Tenants) => {
  const allocation = await newActive(tenants);
  const params = { project_id: tenants.acme.ids.project_id, allocation_id: allocation.id };
  return { allocation, as: tenants.acme.owner, params };
};

const atRecorded = async (tenants: Tenants) => {
  const { allocation, as, params } = await atActive(tenants);
  return { as, params: { ...params, session_id: await aRecordedSession(tenants.sql, allocation, as.me) } };
};

type Mine =
  | 'terminalTicketCreate'
  | 'terminalSessionList'
  | 'terminalSessionGet'
  | 'terminalSessionClose'
  | 'terminalRecordingGet'
  | 'accessGrantList'
  | 'accessGrantCreate'
  | 'accessGrantRevoke'
  | 'accessPolicyGet'
  | 'accessPolicyUpdate';

export const accessScenarios: Pick<Scenarios, Mine> = {
  terminalTicketCreate: async (tenants) => {
    const { as, params } = await atActive(tenants);
    return { as, params, body: { kind: 'forward', port: 8888 } };
  },
  terminalSessionList: async (tenants) => {
    const { as, params } = await atActive(tenants);
    return { as, params };
  },
  terminalSessionGet: atRecorded,
  terminalSessionClose: async (tenants) => {
    const { allocation, as, params } = await atActive(tenants);
    const session_id = await aSession(tenants.sql, allocation, { state: 'open', principal_id: as.me.id });
    return { as, params: { ...params, session_id } };
  },
  terminalRecordingGet: atRecorded,
  accessGrantList: async (tenants) => {
    const { as, params } = await atActive(tenants);
    return { as, params };
  },
  accessGrantCreate: async (tenants) => {
    const { as, params } = await atActive(tenants);
    const made = await as.post('/api/v1/ssh-keys', { name: randomUUID(), public_key: newSshKey() });
    return { as, params, body: { ssh_key_id: must(made, 201).body.id } };
  },
  accessGrantRevoke: async (tenants) => {
    const { allocation, as, params } = await atActive(tenants);
    return { as, params: { ...params, access_grant_id: await aGrant(tenants.sql, allocation, as.me.id) } };
  },
  accessPolicyGet: async ({ acme }) => ({ as: acme.owner, params: { organization_id: acme.organization_id } }),
  accessPolicyUpdate: async ({ acme }) => {
    const path = `/api/v1/organizations/${acme.organization_id}/access-policy`;
    return {
      as: acme.owner,
      params: { organization_id: acme.organization_id },
      body: { session_idle_s: 900, records_terminals: true },
      if_match: must(await acme.owner.get(path), 200).body.version,
    };
  },
};
