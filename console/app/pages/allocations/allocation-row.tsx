/** The cells of the list: the main facts of an allocation. */

import type { Allocation } from '@gpuaas/sdk';
import { ActionIcon, Menu, Tooltip } from '@mantine/core';
import { IconDotsVertical, IconPlugConnected, IconTrash } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { money } from '../../format/money.ts';
import { until } from '../../format/time.ts';
import type { Column } from '../../ui/data-table.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago, useNow } from '../../ui/time.tsx';
import { costNow, endWords, isCharged, pricePerHour } from './cost.ts';
import { noticeCount, shapeWords } from './list.ts';
import { briefly, inFull } from './progress.ts';

const State = ({ row }: Readonly<{ row: Allocation }>) => {
  const isPowerShown = row.state === 'active' && row.power !== null && row.power.state !== 'on';
  return (
    <div className="al-stack-tight">
      <span className="al-badges">
        <StateBadge kind="allocation" state={row.state} title={row.state_reason ?? undefined} />
        {isPowerShown && <StateBadge kind="power" state={row.power?.state ?? 'unknown'} />}
      </span>
      {row.notices.length > 0 && (
        <span className="al-small al-clip" title={row.notices.map(({ message }) => message).join('\n')}>
          {noticeCount(row)}
        </span>
      )}
      {row.progress !== null && (
        <span className="muted al-small tabular" title={inFull(row.progress)}>
          {briefly(row.progress)}
        </span>
      )}
      {row.state === 'release_failed' && row.state_reason !== null && (
        <span className="muted al-small al-clip" title={row.state_reason}>
          {row.state_reason}
        </span>
      )}
    </div>
  );
};

const Cost = ({ row, readAtMs }: Readonly<{ row: Allocation; readAtMs: number }>) => {
  const now = useNow();
  return (
    <div className="al-stack-tight tabular al-nowrap">
      <span>{money(costNow(row, readAtMs, now))}</span>
      <span className="muted al-small">{isCharged(row) ? `${money(pricePerHour(row))} per hour` : 'not charged'}</span>
    </div>
  );
};

const TimeLeft = ({ row }: Readonly<{ row: Allocation }>) => {
  const now = useNow();
  return <span className="tabular al-end-words">{endWords(row, (at) => until(at, now))}</span>;
};

const RowMenu = ({
  row,
  refusal,
  onRelease,
}: Readonly<{ row: Allocation; refusal: string | null; onRelease(row: Allocation): void }>) => (
  <Menu position="bottom-end" width={220}>
    <Menu.Target>
      <ActionIcon variant="subtle" color="gray" size={28} aria-label={`Actions for ${row.name}`}>
        <IconDotsVertical size={16} />
      </ActionIcon>
    </Menu.Target>
    <Menu.Dropdown>
      <Menu.Item
        leftSection={<IconPlugConnected size={15} aria-hidden />}
        renderRoot={(props) => (
          <Link
            to="/projects/$projectId/allocations/$allocationId"
            params={{ projectId: row.project_id, allocationId: row.id }}
            search={{ tab: 'connect' }}
            {...props}
          />
        )}
      >
        Connect
      </Menu.Item>
      <Tooltip label={refusal} disabled={refusal === null} position="left">
        <Menu.Item
          color="red"
          leftSection={<IconTrash size={15} aria-hidden />}
          closeMenuOnClick={refusal === null}
          {...(refusal === null
            ? { onClick: () => onRelease(row) }
            : { 'aria-disabled': true, 'data-disabled': true, 'aria-description': refusal })}
        >
          Release
        </Menu.Item>
      </Tooltip>
    </Menu.Dropdown>
  </Menu>
);

export const allocationColumns = (
  parts: Readonly<{
    readAtMs: number;
    nameOf(id: string): string;
    refusalOf(row: Allocation): string | null;
    onRelease(row: Allocation): void;
  }>,
): readonly Column<Allocation>[] => [
  {
    header: 'Name',
    cell: (row) => (
      <Link
        className="link al-row-name al-clip"
        title={row.name}
        to="/projects/$projectId/allocations/$allocationId"
        params={{ projectId: row.project_id, allocationId: row.id }}
      >
        {row.name}
      </Link>
    ),
  },
  { header: 'State', cell: (row) => <State row={row} /> },
  {
    header: 'Shape and region',
    cell: (row) => (
      <div className="al-stack-tight al-nowrap">
        <span>{shapeWords(row)}</span>
        <span className="muted al-small">{row.region_name}</span>
      </div>
    ),
  },
  { header: 'Cost so far', align: 'right', cell: (row) => <Cost row={row} readAtMs={parts.readAtMs} /> },
  { header: 'Time left', cell: (row) => <TimeLeft row={row} /> },
  {
    header: 'Launched',
    isSecondary: true,
    cell: (row) => (
      <div className="al-stack-tight">
        <span className="al-nowrap">
          <Ago at={row.created_at} />
        </span>
        <span className="muted al-small al-clip al-who" title={parts.nameOf(row.requested_by)}>
          {parts.nameOf(row.requested_by)}
        </span>
      </div>
    ),
  },
  {
    header: 'Actions',
    isHeaderHidden: true,
    align: 'right',
    cell: (row) => <RowMenu row={row} refusal={parts.refusalOf(row)} onRelease={parts.onRelease} />,
  },
];
