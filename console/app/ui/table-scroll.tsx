/**
 * The container of a table, which scrolls horizontally if it is too narrow. The surrounding section is the landmark.
 */
import type { HTMLAttributes } from 'react';

export const TableScroll = ({ label, ...rest }: Readonly<{ label: string }> & HTMLAttributes<HTMLDivElement>) => (
  // biome-ignore lint/a11y/useSemanticElements: it groups no fields of a form.
  <div
    role="group"
    className="table-scroll"
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reachable by key.
    tabIndex={0}
    aria-label={label}
    {...rest}
  />
);
