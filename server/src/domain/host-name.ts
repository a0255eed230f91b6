/** Names used on hosts: safe in paths, XML, YAML and argv. */

/** The host name of a guest OS: the allocation's name, reduced to the grammar of host names. */
export const hostnameOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 63)
    .replaceAll(/-+$/g, '') || 'gpu';

/** The tenant's account on bare metal: one per allocation, so that no tenant inherits files. */
export const usernameOf = (allocationId: string): string => `gp-${allocationId.slice(-16).toLowerCase()}`;

/** The account of a slice that gets the keys; every image of the catalog has it. */
export const GUEST_USERNAME = 'ubuntu';
