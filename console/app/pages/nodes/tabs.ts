/** The tabs of a node's page, as its address names them. */
export const NODE_TABS = [
  ['slots', 'Slots'],
  ['topology', 'Topology'],
  ['candidates', 'Candidates'],
  ['convert', 'Convert'],
  ['health', 'Health'],
  ['inventory', 'Inventory'],
  ['images', 'Images'],
  ['tasks', 'Tasks'],
  ['logs', 'Logs'],
  ['agent', 'Agent'],
] as const;

export type NodeTab = (typeof NODE_TABS)[number][0];

/** An address that names no tab of ours leads to the first. */
export const tabFrom = (name: string | undefined): NodeTab => NODE_TABS.find(([tab]) => tab === name)?.[0] ?? 'slots';
