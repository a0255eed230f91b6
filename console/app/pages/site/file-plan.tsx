/** The plan of a site file, reviewed and applied by its hash; and what was applied. */
import { Group, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useMay } from '../../api/me.tsx';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Copyable } from '../../ui/copy.tsx';
import { Section } from '../../ui/page.tsx';
import { appliedText, blockersOf, groupsOf, plannedText } from './file-changes.ts';
import { ChangesList } from './file-changes-list.tsx';
import type { Outcome, SiteFileState } from './use-site-file.ts';

type Planned = Extract<Outcome, { kind: 'planned' }>;
type Applied = Extract<Outcome, { kind: 'applied' }>;

const NOTHING_TO_CHANGE = 'The site matches the file. Nothing to change.';

/** Takes the focus when it appears: it stands below what was just pressed. */
const Appears = ({ children }: Readonly<{ children: ReactNode }>) => {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.focus({ preventScroll: true });
    box.current?.scrollIntoView({ block: 'start' });
  }, []);
  return (
    <div ref={box} tabIndex={-1} className="site-file-result">
      {children}
    </div>
  );
};

const Blockers = ({ blockers }: Readonly<{ blockers: readonly string[] }>) => (
  <section className="panel" data-tone="bad" aria-label="What blocks this plan">
    <div className="panel-body">
      <strong>This plan cannot be applied.</strong>
      <ul className="site-file-blockers">
        {blockers.map((blocker) => (
          <li key={blocker}>{blocker}</li>
        ))}
      </ul>
      Release or move what is named, or keep it in the file and disable it. Then plan again.
    </div>
  </section>
);

const ApplyButton = ({ planned, isEdited, of }: PlanProps) => {
  const refusal = useMay()('admin.site.update');
  const [asked, setAsked] = useState<Planned | null>(null);
  const { changes, hash } = planned.plan;
  const disabledReason =
    refusal ??
    (blockersOf(changes).length > 0
      ? 'Resolve the blockers, then plan again.'
      : isEdited
        ? 'The file was edited after this plan. Plan again.'
        : null);
  const applying = command(['admin', 'site', 'apply', '-f', 'site.yaml'], [['hash', hash]]);
  return (
    <>
      <Group>
        <ActionButton disabledReason={disabledReason} onClick={() => setAsked(planned)}>
          Apply
        </ActionButton>
      </Group>
      <CliCommand command={applying} />
      <ConfirmDialog
        title="Apply this plan"
        // A newer plan closes it: that one was not reviewed.
        isOpen={asked === planned}
        onClose={() => setAsked(null)}
        confirmLabel="Apply"
        isDestructive={groupsOf(changes).some(({ title }) => title === 'Retire')}
        isRunning={of.application.isRunning}
        error={of.application.error}
        command={() => applying}
        onConfirm={() => of.apply(planned)}
      >
        {plannedText(changes)} All changes are made, or none. If the site has changed since this plan, nothing is
        applied.
      </ConfirmDialog>
    </>
  );
};

type PlanProps = Readonly<{ planned: Planned; isEdited: boolean; of: SiteFileState }>;

const FilePlan = ({ planned, isEdited, of }: PlanProps) => {
  const { changes, hash } = planned.plan;
  const blockers = blockersOf(changes);
  return (
    <Section title="Plan" flush>
      <Stack gap="sm" p="md">
        {planned.notice !== null && (
          <p className="panel" data-tone="warn" role="alert" style={{ margin: 0 }}>
            <span className="panel-body">
              {planned.notice} Nothing was applied. This is the new plan: review it, then apply it.
            </span>
          </p>
        )}
        {isEdited && (
          <p className="panel" data-tone="idle" style={{ margin: 0 }}>
            <span className="panel-body">The file was edited after this plan. Plan again to see its changes.</span>
          </p>
        )}
        <div role="status">{changes.length === 0 ? NOTHING_TO_CHANGE : plannedText(changes)}</div>
        {changes.length > 0 && (
          <Group gap={6}>
            <span className="muted">Hash</span>
            <Copyable text={hash} label="hash" />
          </Group>
        )}
        {blockers.length > 0 && <Blockers blockers={blockers} />}
      </Stack>
      <ChangesList changes={changes} />
      {changes.length > 0 && (
        <Stack gap="sm" p="md">
          <ApplyButton planned={planned} isEdited={isEdited} of={of} />
        </Stack>
      )}
    </Section>
  );
};

const FileApplied = ({ applied: { changes, correlation_id } }: Readonly<{ applied: Applied }>) => (
  <Section title="Applied" flush>
    <Stack gap="sm" p="md">
      <p className="panel" data-tone="good" role="status" style={{ margin: 0 }}>
        <span className="panel-body">
          {changes.length === 0 ? NOTHING_TO_CHANGE : `${appliedText(changes)} The site matches the file.`}
        </span>
      </p>
      <div className="link-list">
        <Link className="link" to="/site">
          Continue the setup
        </Link>
        {correlation_id !== null && (
          <Link className="link" to="/platform/audit" search={{ correlation: correlation_id }}>
            Audit log
          </Link>
        )}
      </div>
    </Stack>
    <ChangesList changes={changes} />
  </Section>
);

export const FileOutcome = ({ of, text }: Readonly<{ of: SiteFileState; text: string }>) => {
  const { outcome } = of;
  if (outcome.kind === 'planned')
    return (
      <Appears key={`planned ${outcome.plan.hash}`}>
        <FilePlan planned={outcome} isEdited={outcome.text !== text} of={of} />
      </Appears>
    );
  if (outcome.kind === 'applied')
    return (
      <Appears key="applied">
        <FileApplied applied={outcome} />
      </Appears>
    );
  return null;
};
