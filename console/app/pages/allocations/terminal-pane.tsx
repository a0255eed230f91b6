/**
 * The terminal or serial console of an allocation in the page. Its code is loaded when it is opened. Leaving the page
 * or closing the pane ends the session.
 */
import './terminal-pane.css';
import type { Allocation } from '@gpuaas/sdk';
import { ActionIcon, Button, Group, Tooltip, useComputedColorScheme } from '@mantine/core';
import { IconMinus, IconPlus, IconX } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useBackend } from '../../api/backend.tsx';
import type { MountedTerminal } from '../../terminal/terminal.ts';
import { ErrorPanel } from '../../ui/error-panel.tsx';

export type PaneKind = 'terminal' | 'console';

const STEP_PX = 120;
const [LEAST_PX, FIRST_PX, MOST_PX] = [200, 420, 1200];
const TITLES = { terminal: 'Terminal', console: 'Serial console' } as const;

const notLoaded = (err: unknown) => ({
  title: 'The terminal failed to load',
  detail: err instanceof Error ? err.message : String(err),
  code: 'unavailable',
  help: 'Reload the page, or run gpuaas terminal in your own terminal.',
  correlation_id: null,
  retryable: true,
  retry_after_s: null,
  errors: [],
});

export const TerminalPane = ({
  allocation: { id, name, project_id },
  kind,
  onClose,
}: Readonly<{ allocation: Allocation; kind: PaneKind; onClose(): void }>) => {
  const backend = useBackend();
  const queries = useQueryClient();
  const scheme = useComputedColorScheme('light');
  const place = useRef<HTMLDivElement>(null);
  const mounted = useRef<MountedTerminal | null>(null);
  const theme = useRef(scheme);
  const [height, setHeight] = useState(FIRST_PX);
  const [failure, setFailure] = useState<unknown>(null);

  useEffect(() => {
    let isGone = false;
    void import('../../terminal/terminal.ts').then(({ mountTerminal }) => {
      if (isGone || place.current === null) return;
      mounted.current = mountTerminal(place.current, {
        label: name,
        theme: theme.current,
        connect: async ({ cols, rows }, signal) => {
          // Sessions emit no events, so the list is read again when one opens or ends.
          const refresh = () => void queries.invalidateQueries({ queryKey: ['terminalSessionList'] });
          const session = await backend.connect(backend.client, {
            project_id,
            allocation_id: id,
            kind,
            cols,
            rows,
            signal,
          });
          void session.ready.then(refresh, refresh);
          void session.closed.then(refresh, refresh);
          return session;
        },
      });
      mounted.current.focus();
    }, setFailure);
    return () => {
      isGone = true;
      mounted.current?.unmount();
      mounted.current = null;
    };
  }, [backend, queries, id, name, project_id, kind]);

  useEffect(() => {
    theme.current = scheme;
    mounted.current?.setTheme(scheme);
  }, [scheme]);

  const grow = (by: number) => {
    const now = place.current?.offsetHeight ?? height;
    const next = Math.min(MOST_PX, Math.max(LEAST_PX, now + by));
    setHeight(next);
    // Dragging the handle sets the height directly, so the prop is no longer current.
    if (place.current !== null) place.current.style.height = `${next}px`;
  };

  return (
    <section className="card" aria-label={`${TITLES[kind]} of ${name}`}>
      <Group justify="space-between" px="md" py={8} gap="xs">
        <h3 className="al-pane-title">
          {TITLES[kind]} of {name}
        </h3>
        <Group gap={6}>
          <Tooltip label="Decrease height">
            <ActionIcon variant="default" size={28} aria-label="Decrease height" onClick={() => grow(-STEP_PX)}>
              <IconMinus size={15} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Increase height">
            <ActionIcon variant="default" size={28} aria-label="Increase height" onClick={() => grow(STEP_PX)}>
              <IconPlus size={15} />
            </ActionIcon>
          </Tooltip>
          <Button size="xs" variant="default" leftSection={<IconX size={14} aria-hidden />} onClick={onClose}>
            Close
          </Button>
        </Group>
      </Group>
      {failure !== null && <ErrorPanel error={notLoaded(failure)} />}
      <div ref={place} className="al-terminal-place" style={{ height }} />
    </section>
  );
};
