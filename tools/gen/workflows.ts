/**
 * doc/architecture/workflows.md and server/workflow-versions.txt, from the declared steps. The second file records which
 * steps each version has: live runs carry the step names of their version, so a recorded version neither changes nor
 * disappears.
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
const keyOf = ({ name, version }: WorkflowDeclaration): string => `${name} ${version}`;
const lineOf = (workflow: WorkflowDeclaration): string => `${keyOf(workflow)}: ${stepNames(workflow).join(' ')}`;

const nameOf = (key: string): string => key.replace(/ (\d+)$/, ' version $1');

/** Recorded versions that have other steps now or are missing, one message each. */
export const changedVersions = (recorded: string, workflows: readonly WorkflowDeclaration[]): readonly string[] => {
  const now = new Map(workflows.map((workflow) => [keyOf(workflow), stepNames(workflow)]));
  return recorded
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      const [key = '', steps = ''] = line.split(': ');
      const declared = now.get(key);
      if (declared === undefined)
        return [
          `${nameOf(key)} is recorded and no longer declared. Live runs of it could not continue: keep its declaration ` +
            `beside the new version. Where it has no live run, remove its line from ${VERSIONS}.`,
        ];
      if (sorted(steps.split(' ')) === sorted(declared)) return [];
      return [
        `${nameOf(key)} is recorded with other steps.\n  recorded: ${steps}\n  now:      ${declared.join(' ')}\n` +
          `Live runs could not continue: add a version and keep this one. Where it was never released, remove its line from ${VERSIONS}.`,
      ];
    });
};

const taskText = (task: HostTask | null): string => {
  if (task === null) return '–';
  if (typeof task === 'string') return `\`${task}\``;
  return `\`${task.gpu_slice}\`; bare metal \`${task.baremetal}\``;
};

const row = ([key, step]: readonly [string, StepDeclaration]): string =>
  `| \`${key}\` | ${step.label}${step.is_off_path === true ? ' *(off path)*' : ''} | ${taskText(step.task)} | ${step.task === null ? '–' : `${step.usual_s} s`} |`;

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
    'Every workflow by its steps, in the order of an undisturbed run. A step *(off path)* runs only after a failure',
    'or while something blocks the run. The usual time counts until hosts have a history of their own.',
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
