/** Whether the shown data is current. A broken stream must not look like a quiet one. */
import { Tooltip } from '@mantine/core';
import type { LiveState } from '../api/event-stream.ts';
import { useLiveState } from '../api/live.ts';
import type { Tone } from '../format/state.ts';
import { ToneBadge } from '../ui/state-badge.tsx';

const SHOWN: Readonly<Record<LiveState, readonly [Tone, string, string]>> = {
  connecting: ['busy', 'Connecting', 'Connecting to the event stream.'],
  live: ['good', 'Live', 'Changes appear automatically.'],
  reconnecting: ['warn', 'Reconnecting', 'The event stream is interrupted. Data may be outdated.'],
};

export const LiveIndicator = () => {
  const state = useLiveState();
  if (state === 'off') return null;
  const [tone, word, sentence] = SHOWN[state];
  return (
    <Tooltip label={sentence}>
      <span role="status" aria-label={`${word}. ${sentence}`}>
        <ToneBadge tone={tone}>{word}</ToneBadge>
      </span>
    </Tooltip>
  );
};
