/** Fills the form of an image from the catalog.json that its build writes, because a digest is not typed. */
import { Textarea } from '@mantine/core';
import { useState } from 'react';
import type { Values } from '../../resource/form.ts';
import { filledFrom } from './declared/images.tsx';

export const CatalogFile = ({ onFill }: Readonly<{ onFill(values: Values): void }>) => {
  const [text, setText] = useState('');
  const filled = text.trim() === '' ? null : filledFrom(text);
  return (
    <Textarea
      label="catalog.json"
      description="Optional. Paste the catalog.json of the image's build to fill the fields below."
      autosize
      minRows={2}
      maxRows={4}
      spellCheck={false}
      value={text}
      error={text.trim() !== '' && filled === null ? 'This is not the JSON of an image.' : null}
      onChange={(event) => {
        const next = event.currentTarget.value;
        setText(next);
        const values = filledFrom(next);
        if (values !== null) onFill(values);
      }}
    />
  );
};
