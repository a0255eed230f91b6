import type { Operations } from '@gpuaas/sdk';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import './site.css';

type Site = Operations['adminDoctorGet']['response'];
type Check = Site['checks'][number];

/** What needs an action comes first; within a state the order of the checks remains. */
const RANK: Readonly<Record<string, number>> = { failed: 0, warning: 1, unknown: 2, ok: 3, not_configured: 4 };

export const byUrgency = (checks: readonly Check[]): Check[] =>
  checks.toSorted((a, b) => (RANK[a.state] ?? 2) - (RANK[b.state] ?? 2));

const RESULTS: Readonly<Record<Site['state'], string>> = {
  ok: 'Everything that was checked is in order.',
  warning: 'The site works, and something needs attention.',
  failed: 'Something does not work. Start with the first check.',
};

export const SiteChecks = ({ site }: Readonly<{ site: Site }>) => (
  <>
    <p className="site-result" role="status">
      {RESULTS[site.state]} Checked <Ago at={site.checked_at} />, in {(site.duration_ms / 1000).toFixed(1)} s. Server{' '}
      {site.server_version}.
    </p>
    <ul className="site-list">
      {byUrgency(site.checks).map(({ key, label, state, detail, cure, runbook_url }) => (
        <li key={key} className="site-row">
          <StateBadge kind="check" state={state} />
          <div className="site-text">
            <strong>{label}</strong>
            <div>{detail}</div>
            {cure !== null && <div className="site-cure">{cure}</div>}
            {cure !== null && runbook_url !== null && <div className="muted mono">{runbook_url}</div>}
          </div>
        </li>
      ))}
    </ul>
  </>
);
