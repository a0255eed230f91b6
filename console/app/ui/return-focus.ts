/**
 * Brings the keyboard back to where it was when a dialog was opened, for dialogs that are there only while they are open: what
 * is gone cannot do it itself. A choice of a menu is gone too by then, so the menu's button stands for it.
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
    /** Once the dialog is gone, which holds the keyboard until then. */
    comeBack: () => {
      setTimeout(() => from.current?.focus({ preventScroll: true }), 0);
    },
  };
};
