/** The line below the name: state, cost so far, price and time left. It keeps counting between two responses. */
import type { Allocation } from '@gpuaas/sdk';
import type { ReactNode } from 'react';
import { money } from '../../format/money.ts';
import { exact, until } from '../../format/time.ts';
import { StateBadge, ToneBadge } from '../../ui/state-badge.tsx';
import { Elapsed, useNow } from '../../ui/time.tsx';
import { costNow, endWords, isCharged, pricePerHour } from './cost.ts';
import { isLive } from './list.ts';

const Figure = ({
  label,
  children,
  title,
}: Readonly<{ label: string; children: ReactNode; title?: string | undefined }>) => (
  <div className="al-figure">
    <dt>{label}</dt>
    <dd title={title}>{children}</dd>
  </div>
);

const endNote = ({ state, release_at, is_protected }: Allocation): string => {
  if (state !== 'active') return isLive({ state }) ? '' : 'ended';
  if (release_at === null) return 'until you release it';
  return is_protected ? 'protected: not released until unprotected' : 'then released automatically';
};

export const AllocationStatus = ({ allocation, readAtMs }: Readonly<{ allocation: Allocation; readAtMs: number }>) => {
  const now = useNow();
  const { state, state_since, state_reason, power, release_at, is_protected } = allocation;
  return (
    <dl className="card al-figures">
      <Figure label="State" title={state_reason ?? undefined}>
        <span className="al-badges">
          <StateBadge kind="allocation" state={state} />
          {power !== null && <StateBadge kind="power" state={power.state} />}
          {is_protected && <ToneBadge tone="idle">Protected</ToneBadge>}
        </span>
        <span className="muted al-small">
          for <Elapsed since={state_since} />
        </span>
      </Figure>
      <Figure label="Cost so far">
        <span className="al-figure-value tabular">{money(costNow(allocation, readAtMs, now))}</span>
        <span className="muted al-small">{isCharged(allocation) ? 'counting' : 'not charged'}</span>
      </Figure>
      <Figure label="Price">
        <span className="al-figure-value tabular">{money(pricePerHour(allocation))}</span>
        <span className="muted al-small">per hour</span>
      </Figure>
      <Figure label="Time left" title={release_at === null ? undefined : exact(release_at)}>
        <span className="al-figure-value tabular">
          {release_at === null ? endWords(allocation, (at) => at) : until(release_at, now).replace(/^in /, '')}
        </span>
        <span className="muted al-small">{endNote(allocation)}</span>
      </Figure>
    </dl>
  );
};
