import assert from 'node:assert/strict';
import type { SessionStream } from '@gpuaas/sdk';

/** Reads until the text appears; returns the output so far. */
export const reader = (stream: SessionStream) => {
  const chunks = stream.bytes[Symbol.asyncIterator]();
  let text = '';
  return {
    until: async (wanted: string | RegExp): Promise<string> => {
      for (;;) {
        const found = typeof wanted === 'string' ? text.indexOf(wanted) : text.search(wanted);
        if (found >= 0) {
          const said = text;
          text = '';
          return said;
        }
        const { done, value } = await chunks.next();
        if (done === true)
          assert.fail(`it ended before ${String(wanted)}: ${text} ${JSON.stringify(await stream.closed)}`);
        text += Buffer.from(value).toString();
      }
    },
    rest: async (): Promise<string> => {
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next())
        text += Buffer.from(next.value).toString();
      return text;
    },
  };
};
