/** Users type names; the API takes IDs. An argument that is already an ID is not looked up. */
import { GpuaasError, type Slot } from '@gpuaas/sdk';
import type { Cli } from './context.ts';
import { UsageError } from './exit.ts';

const find = async <T>(items: AsyncIterable<T>, matches: (item: T) => boolean, what: string): Promise<T> => {
  const found: T[] = [];
  for await (const item of items) if (matches(item)) found.push(item);
  const [only] = found;
  if (only === undefined) throw new GpuaasError('not_found', `No ${what}.`);
  if (found.length > 1) throw new UsageError(`More than one ${what}.`, 'Use its ID.');
  return only;
};

export const serviceAccountId = async (cli: Cli, project_id: string, named: string): Promise<string> => {
  if (named.startsWith('sva_')) return named;
  const accounts = (await cli.client()).pages.serviceAccountList({ params: { project_id } }, { signal: cli.signal });
  return (await find(accounts, ({ name }) => name === named, `service account named "${named}" in the project`)).id;
};

export const sshKeyId = async (cli: Cli, named: string): Promise<string> => {
  if (named.startsWith('key_')) return named;
  const keys = (await cli.client()).pages.sshKeyList({}, { signal: cli.signal });
  return (await find(keys, ({ name }) => name === named, `SSH key named "${named}"`)).id;
};

export const tokenId = async (cli: Cli, named: string): Promise<string> => {
  if (named.startsWith('tok_')) return named;
  const tokens = (await cli.client()).pages.apiTokenList({}, { signal: cli.signal });
  const matches = (token: { name: string; revoked_at: string | null }) =>
    token.name === named && token.revoked_at === null;
  return (await find(tokens, matches, `token named "${named}"`)).id;
};

/** A member of an organization by email address or ID, with the version that a change must name. */
export const organizationMember = async (cli: Cli, organization_id: string, named: string) => {
  const members = (await cli.client()).pages.organizationMemberList(
    { params: { organization_id } },
    { signal: cli.signal },
  );
  return find(
    members,
    ({ user_id, email }) => user_id === named || email === named,
    `member "${named}" in the organization`,
  );
};

/** For a project member: an email address is looked up among the members of the project's organization. */
export const projectUserId = async (cli: Cli, project_id: string, named: string): Promise<string> => {
  if (named.startsWith('usr_')) return named;
  const { organization_id } = await (await cli.client()).projectGet({ params: { project_id } }, { signal: cli.signal });
  return (await organizationMember(cli, organization_id, named)).user_id;
};

const ALLOCATION_NAME = /^[a-z0-9-]{1,63}$/;

/** Of allocations with the same name at most one is live; that one is used, or else the newest. */
export const allocationId = async (cli: Cli, project_id: string, named: string): Promise<string> => {
  if (named.startsWith('alc_')) return named;
  const query = { name: named, limit: 200 };
  // A string that cannot be a name matches nothing; the API would return a validation error.
  const { items } = ALLOCATION_NAME.test(named)
    ? await (await cli.client()).allocationList({ params: { project_id }, query }, { signal: cli.signal })
    : { items: [] };
  const found = items.find(({ state }) => state !== 'released' && state !== 'failed') ?? items[0];
  if (found === undefined) throw new GpuaasError('not_found', `No allocation named "${named}" in the project.`);
  return found.id;
};

export const nodeId = async (cli: Cli, named: string): Promise<string> => {
  if (named.startsWith('nod_')) return named;
  const query = { name: named };
  const [found] = (await (await cli.client()).adminNodeList({ query }, { signal: cli.signal })).items;
  if (found === undefined) throw new GpuaasError('not_found', `No node named "${named}".`);
  return found.id;
};

/** A mapping by its group where the group has only one. */
export const groupMappingId = async (cli: Cli, named: string): Promise<string> => {
  if (named.startsWith('grm_')) return named;
  const mappings = (await cli.client()).pages.adminGroupMappingList({}, { signal: cli.signal });
  return (await find(mappings, ({ group }) => group === named, `group mapping of "${named}"`)).id;
};

/** A price by its SKU where the SKU has only one that is not in effect yet. */
export const futurePriceId = async (cli: Cli, named: string): Promise<string> => {
  if (named.startsWith('prc_')) return named;
  const prices = (await cli.client()).pages.adminPriceList({ query: { sku_name: named } }, { signal: cli.signal });
  return (await find(prices, ({ state }) => state === 'future', `future price of SKU "${named}"`)).id;
};

/** A slot of a node by its index or id, with the version that a change must name. */
export const slotOf = async (cli: Cli, node_id: string, named: string): Promise<Slot> => {
  const client = await cli.client();
  if (named.startsWith('slt_'))
    return client.adminNodeSlotGet({ params: { node_id, slot_id: named } }, { signal: cli.signal });
  if (!/^\d{1,3}$/.test(named)) throw new UsageError(`"${named}" is not a slot.`, 'Use its index or ID.');
  const slots = client.pages.adminNodeSlotList({ params: { node_id } }, { signal: cli.signal });
  return find(slots, ({ slot_index }) => slot_index === Number(named), `slot ${named} on the node`);
};

/** Any organization of the platform, also one that the user is not a member of. */
export const anyOrganizationId = async (cli: Cli, named: string): Promise<string> => {
  if (named.startsWith('org_')) return named;
  const query = { name: named };
  const [found] = (await (await cli.client()).adminOrganizationList({ query }, { signal: cli.signal })).items;
  if (found === undefined) throw new GpuaasError('not_found', `No organization named "${named}".`);
  return found.id;
};

export const allocationParams = async (cli: Cli, allocation: string) => {
  const project_id = await cli.project();
  return { project_id, allocation_id: await allocationId(cli, project_id, allocation) };
};
