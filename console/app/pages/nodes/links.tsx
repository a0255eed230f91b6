/** Links from a node to its allocations and its history. */
import { Link } from '@tanstack/react-router';
import { CopyButton } from '../../ui/copy.tsx';

const short = (id: string): string => (id.length > 16 ? `${id.slice(0, 4)}…${id.slice(-6)}` : id);

/** An ID that can be traced. */
export const TraceLink = ({ id, label }: Readonly<{ id: string; label: string }>) => (
  <span className="copy">
    <Link to="/platform/trace" search={{ id }} className="link mono" title={`Trace ${label} ${id}`}>
      {short(id)}
    </Link>
    <CopyButton text={id} label={label} />
  </span>
);

export const AllocationLink = ({ id }: Readonly<{ id: string | null }>) =>
  id === null ? <span className="muted">none</span> : <TraceLink id={id} label="allocation" />;
