/** Whether tenants can launch something of the catalog, and if not why. */
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';

type Switched = Readonly<{
  enabled: boolean;
  disabled_reason?: string | null;
  retired_at: string | null;
  blockers?: readonly string[];
}>;

export const Availability = ({ of }: Readonly<{ of: Switched }>) => {
  const { enabled, disabled_reason, retired_at, blockers = [] } = of;
  if (retired_at !== null)
    return (
      <>
        <ToneBadge tone="idle">Retired</ToneBadge>
        <div className="muted">
          <Ago at={retired_at} />
        </div>
      </>
    );
  const reason = enabled ? blockers.join(' ') : (disabled_reason ?? '');
  return (
    <>
      <ToneBadge tone={!enabled ? 'idle' : blockers.length > 0 ? 'warn' : 'good'}>
        {!enabled ? 'Disabled' : blockers.length > 0 ? 'Not ready' : 'Enabled'}
      </ToneBadge>
      {reason !== '' && <div className="muted site-reason">{reason}</div>}
    </>
  );
};
