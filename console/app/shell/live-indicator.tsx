/** Whether what is shown keeps itself current. Silence must not look like calm. */
import { Tooltip } from '@mantine/core';
import type { LiveState } from '../api/event-stream.ts';
import { useLiveState } from '../api/live.ts';
import type { Tone } from '../format/state.ts';
import { ToneBadge } from '../ui/state-badge.tsx';

const SHOWN: Readonly<Record<LiveState, readonly [Tone, string, string]>> = {
  connecting: ['busy', 'Connecting', 'Opening the stream of events.'],
  live: ['good', 'Live', 'Changes appear by themselves.'],
  reconnecting: [
    'warn',
    'Reconnecting',
    'The stream of events is interrupted. What you see may be old until it is back.',
  ],
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
