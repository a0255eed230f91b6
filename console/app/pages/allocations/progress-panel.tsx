/** Work in progress: total percentage, every step by name, elapsed time and usual duration. */

import type { Allocation, AllocationProgressStep } from '@gpuaas/sdk';
import { Progress, Title } from '@mantine/core';
import { IconCircle, IconCircleCheck, IconCircleMinus, IconCircleX, IconProgress } from '@tabler/icons-react';
import { Elapsed, Took, useNow } from '../../ui/time.tsx';
import { stepWords, type Work, workSince, workTitle } from './progress.ts';

const ICONS: Readonly<Record<AllocationProgressStep['state'], typeof IconCircle>> = {
  pending: IconCircle,
  running: IconProgress,
  done: IconCircleCheck,
  failed: IconCircleX,
  skipped: IconCircleMinus,
};

const AFTER: Readonly<Record<Work, string>> = {
  launch: 'Charging starts at activation. The launch continues if you leave this page.',
  power: 'Charges continue. The work continues if you leave this page.',
  cleanup: 'Charging has ended. The GPUs become schedulable only after the wipe is verified.',
};

const StepLine = ({ step, words }: Readonly<{ step: AllocationProgressStep; words: string }>) => {
  const Icon = ICONS[step.state];
  return (
    <li className="al-step" data-is={step.state} aria-current={step.state === 'running' ? 'step' : undefined}>
      <Icon size={17} aria-hidden />
      <span className="al-step-label">{step.label}</span>
      <span className="muted al-small tabular">
        {words}
        {step.took_ms !== null && (
          <>
            {' '}
            in <Took ms={step.took_ms} />
          </>
        )}
      </span>
    </li>
  );
};

export const ProgressPanel = ({ allocation, work }: Readonly<{ allocation: Allocation; work: Work }>) => {
  const now = useNow();
  const { progress } = allocation;
  const since = workSince(allocation, work);
  const title = workTitle(allocation, work);
  const percent = progress?.overall_percent ?? 0;
  return (
    <section className="card al-progress-panel" aria-label="Progress">
      <div className="al-progress-head">
        <Title order={2}>{title}</Title>
        <span className="tabular">
          {progress === null ? 'queued' : `${percent} %`}
          <span className="muted">
            , <Elapsed since={since} /> so far
          </span>
        </span>
      </div>
      <Progress value={percent} size="md" aria-label={`${title}, ${percent} percent`} transitionDuration={300} />
      {progress !== null && (
        <ol className="al-steps">
          {progress.steps.map((step) => (
            <StepLine key={step.key} step={step} words={stepWords(step, progress, now)} />
          ))}
        </ol>
      )}
      <p className="muted al-small">{AFTER[work]}</p>
    </section>
  );
};
