/**
 * Text in numbered lines, with a mark at every line that has a problem. A plain text area, which every reader and every
 * keyboard knows: Tab leaves it. The numbers and marks only repeat for the eye what the list of problems says.
 */
import { type RefObject, useRef } from 'react';
import './text-editor.css';

/** As in the styles. */
const LINE_PX = 20;
const LINES_ABOVE = 3;

export type LineProblem = Readonly<{ line: number; message: string }>;

/** Puts the cursor at the start of a line, and the line into sight. */
export const goToLine = (field: HTMLTextAreaElement | null, line: number): void => {
  if (field === null) return;
  const lines = field.value.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  field.focus();
  field.setSelectionRange(before, before + (lines[line - 1]?.length ?? 0));
  field.scrollTop = Math.max(0, line - 1 - LINES_ABOVE) * LINE_PX;
  field.scrollLeft = 0;
};

const at = ({ line }: LineProblem) => ({ top: (line - 1) * LINE_PX });

export const TextEditor = ({
  label,
  describedBy,
  value,
  problems,
  field,
  onChange,
}: Readonly<{
  label: string;
  describedBy: string;
  value: string;
  problems: readonly LineProblem[];
  field: RefObject<HTMLTextAreaElement | null>;
  onChange(text: string): void;
}>) => {
  const gutter = useRef<HTMLDivElement>(null);
  const bands = useRef<HTMLDivElement>(null);
  const lines = value.split('\n').length;
  const follow = ({ scrollTop }: HTMLTextAreaElement): void => {
    for (const part of [gutter.current, bands.current])
      if (part !== null) part.style.transform = `translateY(${-scrollTop}px)`;
  };
  return (
    <div className="text-editor">
      <div className="text-editor-gutter" aria-hidden>
        <div ref={gutter}>
          {Array.from({ length: lines }, (_, index) => index + 1).join('\n')}
          {problems.map((problem) => (
            <span key={`${problem.line} ${problem.message}`} className="text-editor-mark" style={at(problem)} />
          ))}
        </div>
      </div>
      <div className="text-editor-page">
        <div className="text-editor-bands" ref={bands} aria-hidden>
          {problems.map((problem) => (
            <div key={`${problem.line} ${problem.message}`} style={at(problem)} />
          ))}
        </div>
        <textarea
          ref={field}
          aria-label={label}
          aria-describedby={describedBy}
          aria-invalid={problems.length > 0}
          value={value}
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoCorrect="off"
          onScroll={(event) => follow(event.currentTarget)}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      </div>
    </div>
  );
};
