/** Values to copy: IDs, commands, keys. The complete text is copied, also if only a part is shown. */
import { ActionIcon, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { type ReactNode, useEffect, useState } from 'react';

const SHOWN_MS = 1_500;

export const CopyButton = ({ text, label }: Readonly<{ text: string; label: string }>) => {
  const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle');
  useEffect(() => {
    if (state === 'idle') return;
    const timer = setTimeout(() => setState('idle'), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setState('done'),
      () => setState('failed'),
    );
  const said = state === 'done' ? 'Copied' : state === 'failed' ? 'The browser blocked copying' : `Copy ${label}`;
  return (
    <Tooltip label={said} {...(state === 'idle' ? {} : { opened: true })}>
      <ActionIcon variant="subtle" color="gray" size={24} aria-label={`Copy ${label}`} onClick={() => void copy()}>
        {state === 'done' ? <IconCheck size={15} /> : <IconCopy size={15} />}
      </ActionIcon>
    </Tooltip>
  );
};

/** One line of text with a button. `children` is shown instead of the text if given. */
export const Copyable = ({
  text,
  label,
  children,
}: Readonly<{ text: string; label: string; children?: ReactNode }>) => (
  <span className="copy">
    <span className="mono" title={text}>
      {children ?? text}
    </span>
    <CopyButton text={text} label={label} />
  </span>
);

/** An ID, shown by kind and last characters. Hover shows it in full; copying copies it in full. */
export const Id = ({ id, label = 'id' }: Readonly<{ id: string; label?: string }>) => (
  <Copyable text={id} label={label}>
    {id.length > 16 ? `${id.slice(0, 4)}…${id.slice(-6)}` : id}
  </Copyable>
);

export const CopyBlock = ({ text, label }: Readonly<{ text: string; label: string }>) => (
  <pre className="copy-block mono">
    {text}
    <CopyButton text={text} label={label} />
  </pre>
);
