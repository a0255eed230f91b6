/** A state: glyph, word and color together, so that none of them is needed alone. */
import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconProgress,
  type TablerIcon,
} from '@tabler/icons-react';
import { type StateKind, stateWord, type Tone } from '../format/state.ts';

export const TONE_ICONS: Readonly<Record<Tone, TablerIcon>> = {
  good: IconCircleCheck,
  busy: IconProgress,
  warn: IconAlertTriangle,
  bad: IconCircleX,
  idle: IconCircleDashed,
};

export const ToneBadge = ({
  tone,
  children,
  title,
}: Readonly<{ tone: Tone; children: string; title?: string | undefined }>) => {
  const Icon = TONE_ICONS[tone];
  return (
    <span className="badge" data-tone={tone} title={title}>
      <Icon size={14} aria-hidden />
      {children}
    </span>
  );
};

export const StateBadge = ({
  kind,
  state,
  title,
}: Readonly<{ kind: StateKind; state: string; title?: string | undefined }>) => {
  const { word, tone } = stateWord(kind, state);
  return (
    <ToneBadge tone={tone} title={title}>
      {word}
    </ToneBadge>
  );
};
