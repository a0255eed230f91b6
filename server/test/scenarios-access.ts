/** Scenarios of reaching what was launched: tickets, sessions, grants and the organization's policy. */
import { randomUUID } from 'node:crypto';
import { aGrant, aRecordedSession, aSession } from './access.ts';
import type { Scenarios } from './scenario.ts';
import { newActive } from './scenarios-allocation.ts';
import { type Cast, must, newSshKey } from './tenants.ts';

/** A slice that runs, and its owner at the path of it. */
const atActive = async (cast: Cast) => {
  const allocation = await newActive(cast);
  const params = { project_id: cast.acme.ids.project_id, allocation_id: allocation.id };
  return { allocation, as: cast.acme.owner, params };
};

const atRecorded = async (cast: Cast) => {
  const { allocation, as, params } = await atActive(cast);
  return { as, params: { ...params, session_id: await aRecordedSession(cast.sql, allocation, as.me) } };
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
  terminalTicketCreate: async (cast) => {
    const { as, params } = await atActive(cast);
    return { as, params, body: { kind: 'forward', port: 8888 } };
  },
  terminalSessionList: async (cast) => {
    const { as, params } = await atActive(cast);
    return { as, params };
  },
  terminalSessionGet: atRecorded,
  terminalSessionClose: async (cast) => {
    const { allocation, as, params } = await atActive(cast);
    const session_id = await aSession(cast.sql, allocation, { state: 'open', principal_id: as.me.id });
    return { as, params: { ...params, session_id } };
  },
  terminalRecordingGet: atRecorded,
  accessGrantList: async (cast) => {
    const { as, params } = await atActive(cast);
    return { as, params };
  },
  accessGrantCreate: async (cast) => {
    const { as, params } = await atActive(cast);
    const made = await as.post('/api/v1/ssh-keys', { name: randomUUID(), public_key: newSshKey() });
    return { as, params, body: { ssh_key_id: must(made, 201).body.id } };
  },
  accessGrantRevoke: async (cast) => {
    const { allocation, as, params } = await atActive(cast);
    return { as, params: { ...params, access_grant_id: await aGrant(cast.sql, allocation, as.me.id) } };
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
