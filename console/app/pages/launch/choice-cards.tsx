/**
 * One of several visible options: native radio buttons, so that arrows and screen readers work. An unavailable option
 * stays visible and shows why.
 */
import type { ReactNode } from 'react';

export type Choice = Readonly<{
  value: string;
  title: string;
  detail?: ReactNode;
  disabledReason?: string | null | undefined;
}>;

export const ChoiceCards = ({
  legend,
  isLegendHidden = false,
  name,
  value,
  choices,
  onChange,
  isCompact = false,
}: Readonly<{
  legend: string;
  /** If the heading above has the same text. */
  isLegendHidden?: boolean;
  name: string;
  value: string;
  choices: readonly Choice[];
  onChange(value: string): void;
  isCompact?: boolean;
}>) => (
  <fieldset className="choices">
    <legend className={isLegendHidden ? 'visually-hidden' : undefined}>{legend}</legend>
    <div className={isCompact ? 'choice-row' : 'choice-grid'}>
      {choices.map((choice) => {
        const reason = choice.disabledReason ?? null;
        return (
          <label
            key={choice.value}
            className="choice"
            data-checked={choice.value === value}
            data-disabled={reason !== null}
          >
            <input
              type="radio"
              name={name}
              value={choice.value}
              checked={choice.value === value}
              disabled={reason !== null}
              onChange={() => onChange(choice.value)}
            />
            <span className="choice-text">
              <span className="choice-title">{choice.title}</span>
              {choice.detail !== undefined && <span className="choice-detail">{choice.detail}</span>}
              {reason !== null && <span className="choice-detail">{reason}</span>}
            </span>
          </label>
        );
      })}
    </div>
  </fieldset>
);
