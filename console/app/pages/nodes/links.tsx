/** Ways from a node to what stands on it and to what happened there. */
import { Link } from '@tanstack/react-router';
import { CopyButton } from '../../ui/copy.tsx';

const short = (id: string): string => (id.length > 16 ? `${id.slice(0, 4)}…${id.slice(-6)}` : id);

/** An id that can be followed through everything that carries it. */
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
