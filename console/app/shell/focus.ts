/**
 * Where the keyboard is after a change of page. Whoever followed a link on the page they left stood on something that is no
 * longer there; they go on in the new page, and not at the very top.
 */
import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

const CONTENT_ID = 'content';

export const useFocusAfterChange = (): void => {
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const before = useRef(path);
  useEffect(() => {
    const isChange = before.current !== undefined && before.current !== path;
    before.current = path;
    if (isChange && document.activeElement === document.body)
      document.getElementById(CONTENT_ID)?.focus({ preventScroll: true });
  }, [path]);
};
