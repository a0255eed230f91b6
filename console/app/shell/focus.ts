/**
 * Where the keyboard is after a change of page. The link that was followed is gone with its page, so the focus moves to the
 * new page's content and not to the very top. The root only redirects: leaving it is the start, not a change.
 */
import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

const CONTENT_ID = 'content';

export const useFocusAfterChange = (): void => {
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const before = useRef(path);
  useEffect(() => {
    const isChange = before.current !== undefined && before.current !== '/' && before.current !== path;
    before.current = path;
    if (isChange && document.activeElement === document.body)
      document.getElementById(CONTENT_ID)?.focus({ preventScroll: true });
  }, [path]);
};
