/** The declaration of a workflow for a test: server steps only, labeled by their names. */
import type { ServerStep, WorkflowDeclaration } from '../src/domain/workflow-declaration.ts';

export const declared = <const Step extends string>(
  name: string,
  steps: readonly Step[],
  version = 1,
): WorkflowDeclaration<Step> => {
  const entries = steps.map((step): [Step, ServerStep] => [step, { label: step, usual_s: 0, task: null }]);
  return {
    name,
    version,
    label: name,
    phase: 'repair',
    steps: Object.fromEntries(entries) as Record<Step, ServerStep>,
  };
};
