/**
 * The edited site file, kept in this tab: applying may need a fresh sign-in, which leaves the page and returns to it. It is
 * of one user, and gone with the tab.
 */
const KEY = 'gpuaas-site-file';

type Kept = Readonly<{ user: string; text: string }>;

export const readDraft = (user: string): string | null => {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Kept | null;
    return kept?.user === user ? kept.text : null;
  } catch {
    return null;
  }
};

export const keepDraft = (user: string, text: string | null): void => {
  try {
    if (text === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify({ user, text } satisfies Kept));
  } catch {
    // Storage may be blocked or full: the draft then lasts as long as the page.
  }
};
