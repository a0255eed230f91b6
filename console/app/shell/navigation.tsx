/** The navigation. A page without use for a role is not listed; a read-only page is. */
import { Divider, NavLink, ScrollArea, Text } from '@mantine/core';
import {
  IconBuilding,
  IconChartAreaLine,
  IconChecklist,
  IconCpu,
  IconFileCode,
  IconGauge,
  IconHistory,
  IconInbox,
  IconLayoutDashboard,
  IconListDetails,
  IconReceipt2,
  IconRocket,
  IconRoute,
  IconServer2,
  IconSettings,
  IconStack2,
  IconTags,
  IconUserCheck,
  IconUsers,
  type TablerIcon,
} from '@tabler/icons-react';
import { Link, useRouterState } from '@tanstack/react-router';
import { type ReactNode, type RefObject, useEffect, useRef } from 'react';
import { refusalOf, useMe } from '../api/me.tsx';
import { ProjectSwitch } from './project-switch.tsx';

type Entry = Readonly<{ label: string; to: string; icon: TablerIcon; isExact?: boolean }>;

const Entries = ({ title, entries, onGo }: Readonly<{ title: string; entries: readonly Entry[]; onGo(): void }>) => {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const isHere = ({ to, isExact }: Entry) => path === to || (!isExact && path.startsWith(`${to}/`));
  return (
    <nav aria-label={title}>
      <Text size="xs" fw={600} className="muted" px={12} pt={12} pb={4}>
        {title}
      </Text>
      {entries.map((entry) => (
        <NavLink
          key={entry.to}
          py={6}
          label={entry.label}
          leftSection={<entry.icon size={17} aria-hidden />}
          active={isHere(entry)}
          aria-current={isHere(entry) ? 'page' : undefined}
          onClick={onGo}
          renderRoot={(props) => <Link to={entry.to} activeOptions={{ exact: entry.isExact ?? false }} {...props} />}
        />
      ))}
    </nav>
  );
};

const projectEntries = (base: string): readonly Entry[] => [
  { label: 'Overview', to: base, icon: IconLayoutDashboard, isExact: true },
  { label: 'Launch', to: `${base}/launch`, icon: IconRocket },
  { label: 'Allocations', to: `${base}/allocations`, icon: IconCpu },
  { label: 'Usage', to: `${base}/usage`, icon: IconReceipt2 },
  { label: 'Access', to: `${base}/access`, icon: IconUsers },
  { label: 'Trace', to: `${base}/trace`, icon: IconRoute },
];

const platformEntries: readonly Entry[] = [
  { label: 'Nodes', to: '/platform/nodes', icon: IconServer2 },
  { label: 'Capacity', to: '/platform/capacity', icon: IconChartAreaLine },
  { label: 'Allocations', to: '/platform/allocations', icon: IconStack2 },
  { label: 'Runs', to: '/platform/runs', icon: IconListDetails },
  { label: 'Trace', to: '/platform/trace', icon: IconRoute },
  { label: 'Audit', to: '/platform/audit', icon: IconHistory },
];

const SITE_ENTRIES: readonly Entry[] = [
  { label: 'Setup', to: '/site', icon: IconChecklist, isExact: true },
  { label: 'Catalog', to: '/site/catalog', icon: IconTags },
  { label: 'Site file', to: '/site/file', icon: IconFileCode },
  { label: 'Requests', to: '/site/requests', icon: IconInbox },
  { label: 'Organizations', to: '/site/organizations', icon: IconBuilding },
  { label: 'Sign-up and groups', to: '/site/access', icon: IconUserCheck },
];

/** Scrolls the entry of the page into view, and nothing but the navigation. */
const useShownEntry = (list: RefObject<HTMLDivElement | null>): void => {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page is what may be out of sight.
  useEffect(() => {
    const box = list.current;
    const entry = box?.querySelector<HTMLElement>('[aria-current="page"]');
    if (box === null || entry === null || entry === undefined) return;
    const [outer, inner] = [box.getBoundingClientRect(), entry.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom)
      box.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
  }, [list, path]);
};

export const Navigation = ({
  projectId,
  onGo,
  footer,
}: Readonly<{ projectId: string | null; onGo(): void; footer: ReactNode }>) => {
  const me = useMe();
  const project = me.projects.find(({ id }) => id === projectId);
  const organization = me.organizations.find(({ id }) => id === project?.organization_id) ?? me.organizations[0];
  const isOperator = refusalOf(me, 'admin.node.read') === null;
  const list = useRef<HTMLDivElement>(null);
  useShownEntry(list);
  const seesAudit =
    organization !== undefined && refusalOf(me, 'audit.read', { organization: organization.id }) === null;
  return (
    <>
      <ProjectSwitch projectId={projectId} onGo={onGo} />
      <ScrollArea style={{ flex: 1 }} type="auto" viewportRef={list}>
        {projectId !== null && (
          <Entries title="Project" entries={projectEntries(`/projects/${projectId}`)} onGo={onGo} />
        )}
        {organization !== undefined && (
          <Entries
            title="Organization"
            onGo={onGo}
            entries={[
              {
                label: 'Projects and members',
                to: `/organizations/${organization.id}`,
                icon: IconUsers,
                isExact: true,
              },
              { label: 'Limits', to: `/organizations/${organization.id}/limits`, icon: IconGauge },
              ...(seesAudit
                ? [{ label: 'Audit', to: `/organizations/${organization.id}/audit`, icon: IconHistory }]
                : []),
            ]}
          />
        )}
        {isOperator && <Entries title="Platform" entries={platformEntries} onGo={onGo} />}
        {isOperator && <Entries title="Site" entries={SITE_ENTRIES} onGo={onGo} />}
        <Entries title="Account" entries={[{ label: 'Settings', to: '/settings', icon: IconSettings }]} onGo={onGo} />
      </ScrollArea>
      <Divider my={8} />
      {footer}
    </>
  );
};
