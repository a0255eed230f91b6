import './overview.css';
import type { ReactNode } from 'react';

/** One number that matters, with what it is about. */
export const Tile = ({ label, value, note }: Readonly<{ label: string; value: ReactNode; note?: ReactNode }>) => (
  <div className="card tile">
    <div className="muted">{label}</div>
    <div className="tile-value tabular">{value}</div>
    {note !== undefined && <div className="muted">{note}</div>}
  </div>
);
