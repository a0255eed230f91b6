/** One line of standard input. On a terminal the prompt is shown and the input is not. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { UsageError } from './io.ts';

const NOWHERE = new Writable({ write: (_chunk, _encoding, done) => done() });

export const readStdinLine = (prompt: string): Promise<string> => {
  const { stdin, stderr } = process;
  if (stdin.isTTY) stderr.write(prompt);
  const lines = createInterface({ input: stdin, output: NOWHERE, terminal: stdin.isTTY === true });
  return new Promise<string>((resolve, reject) => {
    lines.once('SIGINT', () => reject(new UsageError('Cancelled.')));
    lines.once('line', resolve);
    lines.once('close', () => resolve(''));
  }).finally(() => {
    lines.close();
    if (stdin.isTTY) stderr.write('\n');
  });
};
