/** The text field and the list below it: a combobox whose focus never leaves the field. */
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { count } from '../../format/size.ts';
import './palette.css';
import { type Entry, grouped } from './entry.ts';
import { rank } from './rank.ts';

const SHOWN_MAX = 40;

export const PaletteBox = ({
  query,
  entries,
  note,
  onQuery,
  onChoose,
}: Readonly<{
  query: string;
  entries: readonly Entry[];
  /** The result of the last action. */
  note: string;
  onQuery(query: string): void;
  onChoose(entry: Entry, inNewTab: boolean): void;
}>) => {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const groups = useMemo(() => grouped(rank(query, entries, SHOWN_MAX)), [query, entries]);
  const shown = groups.flatMap(([, of]) => of);
  const [chosenKey, setChosenKey] = useState<string | null>(null);
  const known = shown.findIndex(({ key }) => key === chosenKey);
  const at = known === -1 ? 0 : known;
  const chosen = shown[at];
  const found = shown.length === SHOWN_MAX ? `The first ${SHOWN_MAX} results` : count(shown.length, 'result');
  const optionId = (index: number) => `${id}-${index}`;

  const chosenId = optionId(at);
  useEffect(() => {
    list.current?.querySelector(`[id="${chosenId}"]`)?.scrollIntoView({ block: 'nearest' });
  }, [chosenId]);

  const move = (to: number) => setChosenKey(shown[(to + shown.length) % Math.max(1, shown.length)]?.key ?? null);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + 8,
      PageUp: at - 8,
    };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      move(event.key.startsWith('Page') ? Math.min(Math.max(step, 0), shown.length - 1) : step);
    } else if (event.key === 'Enter' && chosen !== undefined && !event.nativeEvent.isComposing) {
      event.preventDefault();
      onChoose(chosen, event.ctrlKey || event.metaKey);
    }
  };

  return (
    <>
      <input
        className="palette-input"
        data-autofocus
        role="combobox"
        aria-label="Search pages, projects, allocations and IDs"
        placeholder="Search or paste an ID"
        aria-expanded={shown.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={chosen === undefined ? undefined : chosenId}
        autoComplete="off"
        spellCheck={false}
        value={query}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setChosenKey(null);
          onQuery(event.currentTarget.value);
        }}
      />
      <div className="palette-list" role="listbox" id={`${id}-list`} aria-label="Results" ref={list}>
        {groups.map(([group, of]) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of options is no fieldset.
          <div key={group} role="group" aria-label={group}>
            <div className="palette-group" aria-hidden>
              {group}
            </div>
            {of.map((entry) => {
              const index = shown.indexOf(entry);
              return (
                // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, which names the active option.
                // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys.
                <div
                  key={entry.key}
                  id={optionId(index)}
                  role="option"
                  aria-selected={index === at}
                  className="palette-option"
                  onPointerMove={() => setChosenKey(entry.key)}
                  onClick={(event) => onChoose(entry, event.ctrlKey || event.metaKey)}
                >
                  <span>{entry.label}</span>
                  {entry.detail !== undefined && <span className="muted">{entry.detail}</span>}
                </div>
              );
            })}
          </div>
        ))}
      </div>
      {shown.length === 0 && (
        <p className="muted" style={{ margin: 0, padding: '8px 16px 20px' }}>
          No results. An ID has at least 8 characters and no spaces.
        </p>
      )}
      <div className="palette-foot">
        <span role="status">{note === '' ? found : note}</span>
        <span aria-hidden> · ↑ ↓ select · Enter open · Ctrl Enter new tab · Esc close</span>
      </div>
    </>
  );
};
