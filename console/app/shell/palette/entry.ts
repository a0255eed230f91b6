/** One line of the palette: its target or its action. */
import type { Rankable } from './rank.ts';

type Group = 'This ID' | 'Pages' | 'Projects' | 'Allocations' | 'Nodes' | 'Catalog' | 'Actions';

export type ActionName = 'sign_out' | 'theme_light' | 'theme_dark' | 'theme_auto' | 'copy_address' | 'show_shortcuts';

export type Entry = Rankable &
  Readonly<{
    key: string;
    group: Group;
    goesTo: Readonly<{ href: string }> | Readonly<{ action: ActionName }>;
  }>;

export const page = (label: string, href: string, aliases: readonly string[], detail?: string): Entry => ({
  key: `page ${href}`,
  group: 'Pages',
  label,
  aliases,
  detail,
  goesTo: { href },
});

export const action = (name: ActionName, label: string, aliases: readonly string[]): Entry => ({
  key: `action ${name}`,
  group: 'Actions',
  label,
  aliases,
  goesTo: { action: name },
});

/** Ranked entries keep their rank within a group; groups are ordered by their best entry. */
export const grouped = (entries: readonly Entry[]): readonly (readonly [Group, readonly Entry[]])[] => {
  const groups = new Map<Group, Entry[]>();
  for (const entry of entries) groups.set(entry.group, [...(groups.get(entry.group) ?? []), entry]);
  return [...groups];
};
