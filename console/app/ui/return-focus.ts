/**
 * Returns keyboard focus to where it was before a dialog opened, for dialogs that are mounted only while open and
 * cannot do it themselves. A menu item is gone by then, so focus goes to the button of its menu.
 */
import { useRef } from 'react';

const focusTargetOf = (element: Element | null): HTMLElement | null => {
  const menu = element?.closest('[role="menu"]');
  const button = document.getElementById(menu?.getAttribute('aria-labelledby') ?? '') ?? element;
  return button instanceof HTMLElement ? button : null;
};

export const useReturnFocus = () => {
  const from = useRef<HTMLElement | null>(null);
  return {
    leave: () => {
      from.current = focusTargetOf(document.activeElement);
    },
    /** Once the dialog is unmounted, which traps the focus until then. */
    comeBack: () => {
      setTimeout(() => from.current?.focus({ preventScroll: true }), 0);
    },
  };
};
