/** Names that reach a host: made of what paths, XML, YAML and argv can carry. */

/** A guest's host name: the allocation's own, as far as the grammar of host names goes. */
export const hostnameOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 63)
    .replaceAll(/-+$/g, '') || 'gpu';

/** The account of a tenant on a whole node: one for each allocation, so that none inherits another's files. */
export const usernameOf = (allocationId: string): string => `gp-${allocationId.slice(-16).toLowerCase()}`;

/** Whose keys open a slice: every image of the catalog has this account. */
export const GUEST_USERNAME = 'ubuntu';
