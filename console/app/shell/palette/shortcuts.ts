/**
 * Shortcuts outside of text fields. A single key can be pressed by accident or by speech input, so they can be turned
 * off; those with Ctrl stay.
 */
export type Target = Readonly<{ key: string; label: string; href: string }>;

/** `g` and then one of these. Pages that the user may not see are left out. */
export const targetsOf = ({
  projectId,
  organizationId,
  isOperator,
}: Readonly<{ projectId: string | null; organizationId: string | null; isOperator: boolean }>): readonly Target[] => [
  { key: 'h', label: 'Home', href: '/' },
  ...(projectId === null
    ? []
    : [
        { key: 'o', label: 'Overview', href: `/projects/${projectId}` },
        { key: 'l', label: 'Launch', href: `/projects/${projectId}/launch` },
        { key: 'a', label: 'Allocations', href: `/projects/${projectId}/allocations` },
        { key: 'u', label: 'Usage', href: `/projects/${projectId}/usage` },
        { key: 'm', label: 'Members and service accounts', href: `/projects/${projectId}/access` },
      ]),
  ...(organizationId === null
    ? []
    : [{ key: 'p', label: 'Projects and members', href: `/organizations/${organizationId}` }]),
  ...(isOperator
    ? [
        { key: 'n', label: 'Nodes', href: '/platform/nodes' },
        { key: 'c', label: 'Capacity', href: '/platform/capacity' },
        { key: 'r', label: 'Runs', href: '/platform/runs' },
        { key: 'f', label: 'Trace', href: '/platform/trace' },
      ]
    : projectId === null
      ? []
      : [{ key: 'f', label: 'Trace', href: `/projects/${projectId}/trace` }]),
  { key: 's', label: 'Settings', href: '/settings' },
];

type KeyPress = Readonly<{ key: string; ctrlKey: boolean; metaKey: boolean; altKey: boolean }>;
type Meaning = Readonly<{ does: 'palette' | 'help' | 'await' | 'nothing' }> | Readonly<{ does: 'go'; href: string }>;

const NOTHING: Meaning = { does: 'nothing' };

/**
 * The meaning of a key. `isAfterG`: the previous key, a moment ago, was g. `isBare`: keys without Ctrl are enabled
 * here.
 */
export const meaningOf = (
  press: KeyPress,
  { targets, isAfterG, isBare }: Readonly<{ targets: readonly Target[]; isAfterG: boolean; isBare: boolean }>,
): Meaning => {
  if (press.altKey) return NOTHING;
  if (press.ctrlKey || press.metaKey) return press.key.toLowerCase() === 'k' ? { does: 'palette' } : NOTHING;
  if (!isBare) return NOTHING;
  const target = isAfterG ? targets.find(({ key }) => key === press.key) : undefined;
  if (target !== undefined) return { does: 'go', href: target.href };
  if (press.key === '/') return { does: 'palette' };
  if (press.key === '?') return { does: 'help' };
  return press.key === 'g' ? { does: 'await' } : NOTHING;
};

const KEY = 'gpuaas-shortcuts';

/** Storage may be blocked: the choice then lasts as long as the page. */
export const readsShortcuts = (): boolean => {
  try {
    return localStorage.getItem(KEY) !== 'off';
  } catch {
    return true;
  }
};

export const keepShortcuts = (isOn: boolean): void => {
  try {
    localStorage.setItem(KEY, isOn ? 'on' : 'off');
  } catch {
    // As above.
  }
};
