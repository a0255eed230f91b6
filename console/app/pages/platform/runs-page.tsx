/** Workflow runs of the whole platform: running ones, and stuck ones that wait for an operator. */

import { WORKFLOW_STATES, type WorkflowRun } from '@gpuaas/sdk';
import { Group, SegmentedControl } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { usePages } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { stateWord } from '../../format/state.ts';
import { ActionButton, whyNot } from '../../ui/action-button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Id } from '../../ui/copy.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Loading } from '../../ui/loading.tsx';
import { EmptyState, Page, Section } from '../../ui/page.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';

const FLOOR_MS = 5_000;

type RunAction = Readonly<{ run: WorkflowRun; what: 'retry' | 'cancel' }>;

const columns = (ask: (asked: RunAction) => void): readonly Column<WorkflowRun>[] => [
  {
    header: 'Run',
    cell: (run) => (
      <>
        <Link className="link" to="/platform/trace" search={{ id: run.id }} title={run.id}>
          {run.workflow}
        </Link>
        <div className="muted">{run.step_label}</div>
      </>
    ),
  },
  {
    header: 'State',
    cell: (run) => (
      <>
        <StateBadge kind="run" state={run.state} title={run.state_reason ?? undefined} />
        {run.state_reason !== null && (
          <div className="muted" style={{ minWidth: 140, overflowWrap: 'anywhere' }}>
            {run.state_reason}
          </div>
        )}
      </>
    ),
  },
  { header: 'Subject', cell: (run) => <Id id={run.subject_id} label="subject ID" /> },
  { header: 'Since', cell: (run) => <Ago at={run.state_since} /> },
  { header: 'Correlation', cell: (run) => <Id id={run.correlation_id} label="correlation ID" />, isSecondary: true },
  {
    header: 'Actions',
    isHeaderHidden: true,
    align: 'right',
    cell: (run) => (
      <Group gap={4} wrap="nowrap" justify="flex-end">
        <ActionButton
          size="compact-sm"
          variant="default"
          disabledReason={whyNot(run.actions, 'retry')}
          onClick={() => ask({ run, what: 'retry' })}
        >
          Retry
        </ActionButton>
        <ActionButton
          size="compact-sm"
          variant="default"
          disabledReason={whyNot(run.actions, 'cancel')}
          onClick={() => ask({ run, what: 'cancel' })}
        >
          Cancel
        </ActionButton>
      </Group>
    ),
  },
];

const Dialogs = ({ asked, onClose }: Readonly<{ asked: RunAction | null; onClose(): void }>) => {
  const retry = useChange('adminWorkflowRunRetry');
  const cancel = useChange('adminWorkflowRunCancel');
  const id = asked?.run.id ?? '';
  const change = asked?.what === 'cancel' ? cancel : retry;
  return (
    <ConfirmDialog
      title={asked?.what === 'cancel' ? 'Cancel run' : 'Retry run'}
      isOpen={asked !== null}
      onClose={onClose}
      confirmLabel={asked?.what === 'cancel' ? 'Cancel run' : 'Retry'}
      isDestructive={asked?.what === 'cancel'}
      asksReason={asked?.what === 'cancel'}
      isRunning={change.isRunning}
      error={change.error}
      command={(reason) =>
        command(
          ['admin', 'workflow-run', asked?.what ?? 'retry', id],
          asked?.what === 'cancel' ? [['reason', reason]] : [],
        )
      }
      onConfirm={async (reason) =>
        asked?.what === 'cancel'
          ? (await cancel.run({ params: { workflow_run_id: id }, body: { reason } })) !== null
          : (await retry.run({ params: { workflow_run_id: id }, body: {} })) !== null
      }
    >
      {asked?.what === 'cancel'
        ? 'The run ends before its next step. Completed steps are not undone. Its slots stay unschedulable until a verified wipe.'
        : `The run continues from ${asked?.run.step_label ?? 'the stuck step'}. Steps are idempotent and may run again.`}
    </ConfirmDialog>
  );
};

export const RunsPage = () => {
  const search = useSearch({ from: '/console/platform/runs' });
  const navigate = useNavigate({ from: '/platform/runs' });
  const state = WORKFLOW_STATES.find((one) => one === search.state);
  const [asked, setAsked] = useState<RunAction | null>(null);
  const runs = usePages(
    'adminWorkflowRunList',
    { query: { state, subject_id: search.subject, workflow: search.workflow } },
    { everyMs: FLOOR_MS, keepPrevious: true },
  );
  const show = (value: string) => void navigate({ search: value === 'all' ? {} : { state: value }, replace: true });
  return (
    <Page title="Runs" subtitle="Workflow runs of launches, cleanups and repairs. A stuck run waits for an operator.">
      <SegmentedControl
        aria-label="State"
        value={state ?? 'all'}
        onChange={show}
        data={[
          { value: 'all', label: 'All' },
          ...WORKFLOW_STATES.map((one) => ({ value: one, label: stateWord('run', one).word })),
        ]}
        style={{ alignSelf: 'flex-start', maxWidth: '100%', overflowX: 'auto' }}
      />
      {runs.error !== null && <ErrorPanel error={runs.error} onRetry={runs.refetch} />}
      <Section title="Runs" flush>
        {runs.isLoading ? (
          <Loading rows={8} />
        ) : runs.items.length === 0 ? (
          <EmptyState title={state === 'stuck' ? 'No stuck runs' : 'No matching runs'}>
            {state === 'stuck'
              ? 'A run that cannot continue appears here with the reason.'
              : 'Runs appear after a launch or a release.'}
          </EmptyState>
        ) : (
          <DataTable
            label="Runs"
            columns={columns(setAsked)}
            rows={runs.items}
            rowKey={({ id }) => id}
            list={JSON.stringify(search)}
            hasMore={runs.hasMore}
            isLoadingMore={runs.isLoadingMore}
            onMore={runs.loadMore}
          />
        )}
      </Section>
      <Dialogs asked={asked} onClose={() => setAsked(null)} />
    </Page>
  );
};
