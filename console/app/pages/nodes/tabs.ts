/** The tabs of a node's page, as named in the URL. */
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

/** An unknown tab in the URL opens the first. */
export const tabFrom = (name: string | undefined): NodeTab => NODE_TABS.find(([tab]) => tab === name)?.[0] ?? 'slots';
