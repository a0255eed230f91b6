/** The steps of the setup: what is there or missing, the page that does it, and the command that does the same. */
import type { Operations } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import { stateWord } from '../../format/state.ts';
import { useCurrentProject } from '../../shell/current-project.ts';
import { CopyBlock } from '../../ui/copy.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { type Known, placesOf } from './setup-places.ts';
import './site.css';

type Setup = Operations['adminSetupGet']['response'];
type Step = Setup['steps'][number];

/** The command of a step that waits for another one would fail. */
const shownCommand = ({ state, command }: Step): string | null => (state === 'blocked' ? null : command);

const StepRow = ({ step, known }: Readonly<{ step: Step; known: Known }>) => {
  const command = shownCommand(step);
  return (
    <li className="site-row" aria-current={step.state === 'next' ? 'step' : undefined}>
      <StateBadge kind="setup" state={step.state} />
      <div className="site-text">
        <strong>{step.label}</strong>
        <div>{step.detail}</div>
        <div className="link-list">
          {placesOf(step.key, known).map(({ label, link }) => (
            <Link key={label} className="link" {...link}>
              {label}
            </Link>
          ))}
        </div>
        {command !== null && <CopyBlock text={command} label={`command for ${step.label.toLowerCase()}`} />}
      </div>
    </li>
  );
};

export const SetupSteps = ({ setup }: Readonly<{ setup: Setup }>) => {
  const known = { nodeId: setup.node_id, projectId: useCurrentProject() };
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
          <StepRow key={step.key} step={step} known={known} />
        ))}
      </ol>
    </>
  );
};
