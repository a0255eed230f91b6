/** What is wrong with a site file: each problem leads to its line. */

import { count } from '../../format/size.ts';
import { Copyable } from '../../ui/copy.tsx';
import type { FileProblem } from './use-site-file.ts';
import './site-file.css';

const textOf = ({ name, message }: FileProblem): string => [name, message].filter((part) => part !== '').join(' ');

export const FileProblems = ({
  problems,
  correlationId,
  onGo,
}: Readonly<{ problems: readonly FileProblem[]; correlationId: string | null; onGo(line: number): void }>) => {
  const title = `The file has ${count(problems.length, 'problem')}`;
  return (
    <section className="panel" data-tone="bad" role="alert" aria-label={title}>
      <strong>{title}</strong>
      <div className="panel-body">
        <ul className="site-file-problems">
          {problems.map((problem) => (
            <li key={`${problem.line} ${textOf(problem)}`}>
              {problem.line === null ? (
                `The file ${textOf(problem)}`
              ) : (
                <>
                  <button type="button" className="site-file-line" onClick={() => onGo(problem.line ?? 1)}>
                    Line {problem.line}
                  </button>{' '}
                  {problem.name !== '' && <span className="mono">{problem.name}</span>} {problem.message}
                </>
              )}
            </li>
          ))}
        </ul>
        Nothing was changed. Correct the file, then plan again.
        {correlationId !== null && (
          <div className="copy">
            <span className="muted">Correlation ID</span> <Copyable text={correlationId} label="correlation ID" />
          </div>
        )}
      </div>
    </section>
  );
};
