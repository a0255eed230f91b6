/**
 * Keyboard focus after navigation. The followed link is gone with its page, so the focus moves to the content of the
 * new page instead of its top. The root only redirects: leaving it is the start, not navigation.
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
