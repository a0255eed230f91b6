/** One bar per number, all on the scale of the delivered capacity, with the numbers beside them. */
import './capacity.css';

type Counts = Readonly<{
  delivered_gpus: number;
  healthy_gpus: number;
  reserved_gpus: number;
  active_gpus: number;
  free_gpus: number;
  unapproved_gpus: number;
  blocked_gpus: number;
}>;

const BARS = [
  ['Delivered', 'delivered_gpus'],
  ['Healthy', 'healthy_gpus'],
  ['Active', 'active_gpus'],
  ['Reserved', 'reserved_gpus'],
  ['Free', 'free_gpus'],
  ['Unapproved', 'unapproved_gpus'],
  ['Blocked', 'blocked_gpus'],
] as const;

export const CapacityBar = ({ fleet }: Readonly<{ fleet: Counts }>) => (
  <div className="capacity">
    {BARS.map(([name, key]) => (
      <div key={key} className="capacity-row">
        <span>{name}</span>
        <meter
          className="capacity-meter"
          aria-label={`${name} GPUs`}
          min={0}
          max={Math.max(1, fleet.delivered_gpus)}
          value={fleet[key]}
          data-kind={key}
        />
        <span className="tabular">{fleet[key]}</span>
      </div>
    ))}
  </div>
);
