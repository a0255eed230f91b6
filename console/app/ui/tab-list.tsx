/** The tabs of a page in one line. If they do not fit they scroll, and the selected one is scrolled into view. */
import { Tabs } from '@mantine/core';
import { useEffect, useRef } from 'react';

export const TabList = ({
  current,
  tabs,
}: Readonly<{ current: string; tabs: readonly (readonly [value: string, label: string])[] }>) => {
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is what may be out of sight.
  useEffect(() => {
    const element = list.current;
    const chosen = element?.querySelector<HTMLElement>('[aria-selected="true"]');
    if (element === null || chosen === null || chosen === undefined) return;
    // Only horizontally: the page does not scroll.
    element.scrollLeft = chosen.offsetLeft - (element.clientWidth - chosen.offsetWidth) / 2;
  }, [current]);
  return (
    <Tabs.List ref={list} className="tab-list" mb="md">
      {tabs.map(([value, label]) => (
        <Tabs.Tab key={value} value={value}>
          {label}
        </Tabs.Tab>
      ))}
    </Tabs.List>
  );
};
