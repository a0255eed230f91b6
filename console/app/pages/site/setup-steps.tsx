import type { Operations } from '@gpuaas/sdk';
import { stateWord } from '../../format/state.ts';
import { CopyBlock } from '../../ui/copy.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import './site.css';

type Setup = Operations['adminSetupGet']['response'];
type Step = Setup['steps'][number];

/** The command of a step that waits for another one would fail. */
const shownCommand = ({ state, command }: Step): string | null => (state === 'blocked' ? null : command);

const StepRow = ({ step }: Readonly<{ step: Step }>) => {
  const command = shownCommand(step);
  return (
    <li className="site-row" aria-current={step.state === 'next' ? 'step' : undefined}>
      <StateBadge kind="setup" state={step.state} />
      <div className="site-text">
        <strong>{step.label}</strong>
        <div>{step.detail}</div>
        {command !== null && <CopyBlock text={command} label={`command for ${step.label.toLowerCase()}`} />}
      </div>
    </li>
  );
};

export const SetupSteps = ({ setup }: Readonly<{ setup: Setup }>) => {
  const next = setup.steps.find(({ key }) => key === setup.next);
  return (
    <>
      <p className="site-result" role="status">
        {next === undefined
          ? 'Every required step is done.'
          : `${stateWord('setup', 'next').word}: ${next.label}. Steps follow from the data of the site, so you may stop and continue at any time.`}
      </p>
      <ol className="site-list">
        {setup.steps.map((step) => (
          <StepRow key={step.key} step={step} />
        ))}
      </ol>
    </>
  );
};
