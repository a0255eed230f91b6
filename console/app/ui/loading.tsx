/** Loading: reserves the space so that the layout does not shift, and shows the elapsed time if it takes long. */
import { Skeleton, Stack } from '@mantine/core';
import { useState } from 'react';
import { span } from '../format/time.ts';
import { useNow } from './time.tsx';

const QUIET_MS = 2_000;

export const Loading = ({ rows = 4, label = 'Loading' }: Readonly<{ rows?: number; label?: string }>) => {
  const now = useNow();
  const [since] = useState(() => Date.now());
  const waited = now - since;
  return (
    <Stack gap={10} p="md" role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike and never move.
        <Skeleton key={index} height={18} />
      ))}
      <span className="muted" style={{ minHeight: 20 }}>
        {waited > QUIET_MS ? `${label}: ${span(waited)} elapsed` : ''}
      </span>
    </Stack>
  );
};
