/** The chart, drawn by uPlot, with a table of its end points for screen readers. */
import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { LINES, type Series } from './history.ts';

const HEIGHT = 280;
const DASHES: readonly (number[] | undefined)[] = [undefined, [8, 4], [2, 3], undefined, [12, 3, 2, 3]];
const TONES = ['--tone-idle', '--tone-good', '--tone-warn', '--tone-busy', '--mantine-color-text'];

const DAY_S = 86_400;
/** Hours and minutes if the range is within two days, else the date. */
const tickOf = (at: number, splits: readonly number[]): string => {
  const text = new Date(at * 1000).toISOString();
  return (splits.at(-1) ?? 0) - (splits[0] ?? 0) <= 2 * DAY_S ? text.slice(11, 16) : text.slice(5, 10);
};

const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export const HistoryChart = ({ series }: Readonly<{ series: Series }>) => {
  const place = useRef<HTMLDivElement>(null);
  const colorScheme = useComputedColorScheme('light');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colors are read from the page, which the theme changes.
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const axis = {
      stroke: color('--muted'),
      grid: { stroke: color('--line'), width: 1 },
      ticks: { stroke: color('--line') },
    };
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), 'Etc/UTC'),
        scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.05)] } },
        axes: [
          { ...axis, values: (_, splits) => splits.map((at) => tickOf(at, splits)) },
          { ...axis, size: 50 },
        ],
        series: [
          { label: 'Time (UTC)' },
          // Lines differ by their dashes too, not only by color.
          ...LINES.map(([label], index) => ({
            label,
            stroke: color(TONES[index] ?? '--muted'),
            width: 2,
            ...(DASHES[index] === undefined ? {} : { dash: DASHES[index] }),
            points: { show: false },
          })),
        ],
      },
      [series.times, ...series.lines] as uPlot.AlignedData,
      element,
    );
    const follow = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    follow.observe(element);
    return () => {
      follow.disconnect();
      chart.destroy();
    };
  }, [series, colorScheme]);
  const summary = LINES.map(
    ([name], index) => `${name} ${series.lines[index]?.at(0)} then, ${series.lines[index]?.at(-1)} now`,
  ).join('; ');
  return <div ref={place} className="chart" role="img" aria-label={`Capacity over time. ${summary}.`} />;
};
