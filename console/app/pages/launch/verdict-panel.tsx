/** Whether the request fits, and if not why and what would fit: the same for an estimate and a refused launch. */
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { LaunchForm, LaunchSearch } from './form.ts';
import type { LaunchAlternative, Sku } from './types.ts';
import {
  alternativeLabel,
  alternativePatch,
  type Estimate,
  expectedIn,
  fitSentence,
  type Reason,
  reasonsInWords,
} from './verdict.ts';

/** The result, then the alternatives, then optionally where the rest of the capacity is. */
export const Reasons = ({ reasons, children }: Readonly<{ reasons: readonly Reason[]; children: ReactNode }>) => {
  const [first, ...rest] = reasonsInWords(reasons);
  const expected = expectedIn(reasons);
  return (
    <div style={{ overflowWrap: 'anywhere' }}>
      {first !== undefined && (
        <div>
          {first.text} {first.hint}
        </div>
      )}
      {expected !== null && <div style={{ marginTop: 4 }}>{expected}</div>}
      {children}
      {rest.length > 0 && (
        <details className="reasons-rest">
          <summary>Unavailable GPUs</summary>
          <ul className="reasons">
            {rest.map(({ code, text, hint }) => (
              <li key={`${code} ${text}`}>
                {text}
                {hint === null ? '' : ` ${hint}`}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
};

export const Alternatives = ({
  alternatives,
  form,
  skus,
  onTake,
}: Readonly<{
  alternatives: readonly LaunchAlternative[];
  form: LaunchForm;
  skus: readonly Sku[];
  onTake(patch: LaunchSearch): void;
}>) =>
  alternatives.length === 0 ? (
    <p style={{ margin: '8px 0 0' }}>No alternative is available now. This page refreshes automatically.</p>
  ) : (
    <div style={{ marginTop: 8 }}>
      <h3 style={{ fontSize: '0.8125rem', margin: 0 }}>Available now</h3>
      <ul className="alternatives">
        {alternatives.map((alternative) => {
          const { what, where, price } = alternativeLabel(alternative, skus);
          return (
            <li key={`${where} ${what}`}>
              <button type="button" className="alternative" onClick={() => onTake(alternativePatch(alternative, form))}>
                <span style={{ fontWeight: 500 }}>{what}</span>
                <span className="muted">
                  {where}
                  {price === null ? '' : `, ${price}`}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );

export const FitPanel = ({
  estimate,
  form,
  skus,
  onTake,
}: Readonly<{ estimate: Estimate; form: LaunchForm; skus: readonly Sku[]; onTake(patch: LaunchSearch): void }>) => {
  const Icon = estimate.fits_now ? IconCircleCheck : IconAlertTriangle;
  return (
    <div className="panel" data-tone={estimate.fits_now ? 'good' : 'warn'} role="status">
      <div style={{ display: 'flex', gap: 8, fontWeight: 600 }}>
        <Icon size={18} aria-hidden style={{ flexShrink: 0, marginTop: 1 }} />
        <span>{fitSentence(estimate)}</span>
      </div>
      {!estimate.fits_now && (
        <div className="panel-body" style={{ marginTop: 4 }}>
          <Reasons reasons={estimate.reasons}>
            <Alternatives alternatives={estimate.alternatives} form={form} skus={skus} onTake={onTake} />
          </Reasons>
        </div>
      )}
    </div>
  );
};
