/** The frame of a page. Its title is also the title of the document. */
import { Group, Stack, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';

export const Page = ({
  title,
  subtitle,
  actions,
  children,
}: Readonly<{ title: string; subtitle?: ReactNode; actions?: ReactNode; children: ReactNode }>) => {
  useEffect(() => {
    document.title = `${title} · GPUaaS`;
  }, [title]);
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div style={{ minWidth: 0 }}>
          <Title order={1} style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Title>
          {subtitle !== undefined && <div className="muted">{subtitle}</div>}
        </div>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
};

/** A part of a page with its own heading. */
export const Section = ({
  title,
  actions,
  children,
  flush = false,
}: Readonly<{
  title: string;
  actions?: ReactNode;
  children: ReactNode /** For tables, which extend to the edge. */;
  flush?: boolean;
}>) => (
  <section className="card" aria-label={title}>
    <Group justify="space-between" px="md" py={10} style={{ borderBottom: '1px solid var(--line)' }}>
      <Title order={2}>{title}</Title>
      {actions !== undefined && <Group gap="xs">{actions}</Group>}
    </Group>
    <div style={flush ? {} : { padding: 16 }}>{children}</div>
  </section>
);

/** Names and values. */
export const Facts = ({ facts }: Readonly<{ facts: readonly (readonly [name: string, value: ReactNode])[] }>) => (
  <dl className="facts">
    {facts.map(([name, value]) => (
      <div key={name} style={{ display: 'contents' }}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** Nothing here yet, and the next action. */
export const EmptyState = ({
  title,
  children,
  action,
}: Readonly<{ title: string; children: ReactNode; action?: ReactNode }>) => (
  <Stack align="center" gap={8} py={40} px="md" ta="center">
    <Title order={2}>{title}</Title>
    <div className="muted" style={{ maxWidth: 480 }}>
      {children}
    </div>
    {action}
  </Stack>
);
