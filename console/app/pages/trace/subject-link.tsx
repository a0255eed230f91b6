/** A resource of a trace, as a link if the user may open it. */
import type { Trace } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

type Subject = Trace['subjects'][number];

const label = ({ kind, id, name, state }: Subject): string =>
  `${kind.replace('_', ' ')} ${name ?? `…${id.slice(-6)}`}${state === null ? '' : `, ${state.replaceAll('_', ' ')}`}`;

export const SubjectLink = ({
  subject,
  projectId,
}: Readonly<{ subject: Subject; projectId: string | null }>): ReactNode => {
  if (subject.kind === 'allocation' && (projectId ?? subject.project_id) !== null && projectId !== null)
    return (
      <Link
        className="link"
        to="/projects/$projectId/allocations/$allocationId"
        params={{ projectId, allocationId: subject.id }}
      >
        {label(subject)}
      </Link>
    );
  if (subject.kind === 'node' && projectId === null)
    return (
      <Link className="link" to="/platform/nodes/$nodeId" params={{ nodeId: subject.id }}>
        {label(subject)}
      </Link>
    );
  if (projectId === null)
    return (
      <Link className="link" to="/platform/trace" search={{ id: subject.id }}>
        {label(subject)}
      </Link>
    );
  return <span title={subject.id}>{label(subject)}</span>;
};
