/**
 * The commit in server/previous-release.txt is what an upgrade starts from. Migrations are compared by their digests, so
 * a database that it migrated can only be migrated further while none of its files has changed.
 */
import { spawnSync } from 'node:child_process';

const FILE = 'server/previous-release.txt';
const MIGRATIONS = 'server/migrations';

/** What keeps a site of this commit from upgrading to the files of this checkout. */
export const flawsSince = (commit: string, root: string): readonly string[] => {
  const git = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
    return { status, text: `${stdout ?? ''}${stderr ?? ''}`.trim() };
  };
  if (!/^[0-9a-f]{40,64}$/.test(commit)) return [`${FILE}: "${commit}" is not the full name of a commit.`];
  if (git('cat-file', '-e', `${commit}^{commit}`).status !== 0)
    return [
      `${FILE}: this clone does not have commit ${commit}, so migrations cannot be compared with it. Fetch the whole history (git fetch --unshallow), or correct the file.`,
    ];
  if (git('merge-base', '--is-ancestor', commit, 'HEAD').status !== 0)
    return [
      `${FILE}: commit ${commit} is not in the history of this checkout, so other clones do not have it. Name one that is.`,
    ];
  const changed = git('diff', '--name-only', '--no-renames', '--diff-filter=a', commit, '--', MIGRATIONS);
  if (changed.status !== 0) return [`git diff failed: ${changed.text}`];
  return changed.text
    .split('\n')
    .filter((path) => path !== '')
    .map(
      (path) =>
        `${path}: it was changed since the previous release (${commit.slice(0, 8)} in ${FILE}), whose sites could not upgrade. Restore it and add a new migration.`,
    );
};
