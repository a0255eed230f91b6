/**
 * doc/architecture/workflows.md and server/workflow-versions.txt, from the declared steps. The second file records which
 * steps each version has: live runs carry the step names of their version, so a recorded version never changes.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type HostTask,
  type StepDeclaration,
  stepEntries,
  type WorkflowDeclaration,
} from '../../server/src/domain/workflow-declaration.ts';
import { WORKFLOWS } from '../../server/src/domain/workflow-steps.ts';
import { type Generated, ROOT } from './file.ts';

const VERSIONS = 'server/workflow-versions.txt';

const stepNames = (workflow: WorkflowDeclaration): readonly string[] => stepEntries(workflow).map(([key]) => key);
const sorted = (names: readonly string[]): string => [...names].sort().join(' ');
const lineOf = (workflow: WorkflowDeclaration): string =>
  `${workflow.name} ${workflow.version}: ${stepNames(workflow).join(' ')}`;

/** What is recorded of a version and is not so any more, as sentences for the one who changed it. */
export const changedVersions = (recorded: string, workflows: readonly WorkflowDeclaration[]): readonly string[] => {
  const before = new Map(
    recorded.split('\n').map((line): [string, string] => {
      const [key = '', steps = ''] = line.split(': ');
      return [key, steps];
    }),
  );
  return workflows.flatMap((workflow) => {
    const steps = before.get(`${workflow.name} ${workflow.version}`);
    if (steps === undefined || sorted(steps.split(' ')) === sorted(stepNames(workflow))) return [];
    return [
      `${workflow.name} version ${workflow.version} is recorded with other steps.\n  recorded: ${steps}\n  now:      ${stepNames(workflow).join(' ')}\n` +
        `Live runs could not continue: raise its version. Where it was never released, remove its line from ${VERSIONS}.`,
    ];
  });
};

const taskText = (task: HostTask | null): string => {
  if (task === null) return '–';
  if (typeof task === 'string') return `\`${task}\``;
  return `\`${task.gpu_slice}\`; bare metal \`${task.baremetal}\``;
};

const row = ([key, step]: readonly [string, StepDeclaration]): string =>
  `| \`${key}\` | ${step.label}${step.is_off_path === true ? ' *(aside)*' : ''} | ${taskText(step.task)} | ${step.task === null ? '–' : `${step.usual_s} s`} |`;

const section = (workflow: WorkflowDeclaration): string =>
  [
    `## \`${workflow.name}\``,
    '',
    `${workflow.label}: version ${workflow.version}, phase ${workflow.phase}.`,
    '',
    '| step | label | host task | usual time |',
    '|---|---|---|---|',
    ...stepEntries(workflow).map(row),
  ].join('\n');

export const workflowsText = (workflows: readonly WorkflowDeclaration[]): string =>
  `${[
    '<!-- Written by `make gen` from server/src/domain/workflow-steps.ts; do not edit. -->',
    '# Workflows',
    '',
    'Every workflow by its steps, in the order of an undisturbed run. A step *(aside)* is taken only when something went wrong',
    'or is in the way. The usual time counts until hosts have a history of their own.',
    '',
    workflows.map(section).join('\n\n'),
  ].join('\n')}\n`;

export const workflowFiles = async (): Promise<readonly Generated[]> => {
  const recorded = await readFile(join(ROOT, VERSIONS), 'utf8').catch(() => '');
  const changed = changedVersions(recorded, WORKFLOWS);
  if (changed.length > 0) throw new Error(changed.join('\n'));
  return [
    { path: 'doc/architecture/workflows.md', text: workflowsText(WORKFLOWS) },
    { path: VERSIONS, text: `${WORKFLOWS.map(lineOf).join('\n')}\n` },
  ];
};
