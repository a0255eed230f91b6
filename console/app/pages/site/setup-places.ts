/** Where each step of the setup is done in the console. */
import type { SETUP_STEPS } from '@gpuaas/sdk';
import { linkOptions } from '@tanstack/react-router';

type Key = (typeof SETUP_STEPS)[number];
/** What exists: the newest node, and a project of the user. */
export type Known = Readonly<{ nodeId: string | null; projectId: string | null }>;

/** Checks of the site that are not of one page stand below the steps. */
export const HEALTH_ID = 'health';

const health = (label: string) => ({ label, link: linkOptions({ to: '/site', hash: HEALTH_ID }) });
const catalog = { label: 'Catalog', link: linkOptions({ to: '/site/catalog' }) };
const siteFile = { label: 'Site file', link: linkOptions({ to: '/site/file' }) };
const addNode = { label: 'Add node', link: linkOptions({ to: '/platform/nodes', search: { add: 'node' } }) };

const ofNode = (label: string, tab: string, { nodeId }: Known) =>
  nodeId === null
    ? { label: 'Nodes', link: linkOptions({ to: '/platform/nodes' }) }
    : { label, link: linkOptions({ to: '/platform/nodes/$nodeId', params: { nodeId }, search: { tab } }) };

const PLACES = {
  sign_in: () => [health('Check of the issuer')],
  superadmin: () => [{ label: 'Your account', link: linkOptions({ to: '/settings', search: { tab: 'profile' } }) }],
  trust_keys: () => [health('Check of the keys')],
  backups: () => [health('Check of the backups')],
  catalog: () => [siteFile, catalog],
  sign_up: () => [
    { label: 'Sign-up policy', link: linkOptions({ to: '/site/access', search: { tab: 'sign-up' } }) },
    siteFile,
  ],
  node_created: () => [addNode],
  node_enrolled: (known: Known) => [ofNode('Install command and agent', 'agent', known)],
  node_discovered: (known: Known) => [ofNode('Run discovery', 'candidates', known)],
  node_approved: (known: Known) => [ofNode('Review candidates', 'candidates', known)],
  first_launch: ({ projectId }: Known) => [
    projectId === null
      ? { label: 'Create an organization', link: linkOptions({ to: '/site/organizations' }) }
      : { label: 'Launch', link: linkOptions({ to: '/projects/$projectId/launch', params: { projectId } }) },
  ],
} satisfies Readonly<Record<Key, (known: Known) => readonly unknown[]>>;

export const placesOf = (key: Key, known: Known) => PLACES[key](known);
