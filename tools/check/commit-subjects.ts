/**
 * Subjects of commits are read as a list, so they are short, and say what the commit does rather than which kind it is.
 * Checked from a recorded commit on: earlier subjects cannot change. A clone that lacks that commit has nothing to check.
 */
import { spawnSync } from 'node:child_process';
import { ROOT } from '../gen/file.ts';
import { type Check, pass, verdict } from './check.ts';

/** The last commit that is not checked. */
const SINCE = 'cad66c179669f2ba9bcc1cf1f166a8fdccd67283';
const LENGTH_MAX = 72;
const PREFIX = /^[a-z]+(?:\([^)]*\))?!?: /;

export const flawOf = (subject: string): string | null => {
  if (subject.length > LENGTH_MAX) return `has ${subject.length} characters: ${LENGTH_MAX} at most`;
  if (PREFIX.test(subject)) return 'has a prefix: begin with a verb';
  return subject.endsWith('.') ? 'ends with a period' : null;
};

/** Subjects after a commit, the newest first; null where this clone does not have it, as a shallow one. */
export const subjectsSince = (commit: string, root: string): readonly string[] | null => {
  const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (git('merge-base', '--is-ancestor', commit, 'HEAD').status !== 0) return null;
  const { status, stdout, stderr } = git('log', '--no-merges', '--format=%s', `${commit}..HEAD`);
  if (status !== 0) throw new Error(`git log failed: ${stderr}`);
  return stdout.split('\n').filter((subject) => subject !== '');
};

export const commitSubjects: Check = {
  name: 'commit subjects',
  run: async () => {
    const subjects = subjectsSince(SINCE, ROOT);
    if (subjects === null) return pass(`skipped: this clone does not have commit ${SINCE.slice(0, 8)}`);
    const findings = subjects.flatMap((subject) => {
      const flaw = flawOf(subject);
      return flaw === null ? [] : [`"${subject}" ${flaw}`];
    });
    return verdict(findings, `${subjects.length} subjects`);
  },
};
