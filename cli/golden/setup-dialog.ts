/** `gpuaas admin setup` at a terminal, with the replies that a user would type. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { runSteps } from '../src/commands/admin-setup.ts';
import { createCli } from '../src/context.ts';
import type { Prompts } from '../src/prompt.ts';
import { readSetup } from '../src/setup-run.ts';

const TIMEOUT_MS = 30_000;

export type Dialog = Readonly<{ seen: string; asked: readonly string[]; left: readonly (string | boolean)[] }>;

export const runSetupDialog = async (
  api: Readonly<{ url: string; token: string }>,
  replies: readonly (string | boolean)[],
  /** Everything on the screen so far, whenever there is more. */
  onScreen: (seen: string) => void = () => undefined,
): Promise<Dialog> => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let seen = '';
  for (const stream of [stdout, stderr])
    stream.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
      onScreen(seen);
    });
  const env = { GPUAAS_URL: api.url, GPUAAS_TOKEN: api.token, XDG_CONFIG_HOME: '/nonexistent' };
  const cli = createCli(
    { json: false },
    { env, cwd: '/', self: [], stdin, stdout, stderr, signal: new AbortController().signal },
  );
  const left = [...replies];
  const asked: string[] = [];
  const reply = async <T>(question: string): Promise<T> => {
    asked.push(question);
    assert.ok(left.length > 0, `no reply is left for: ${question}`);
    return left.shift() as T;
  };
  const select: Prompts['select'] = async (question, choices) => {
    const chosen = await reply<string>(question);
    assert.ok(choices.includes(chosen), `${question} has no choice ${chosen}: ${choices.join(', ')}`);
    return chosen;
  };
  const prompts: Prompts = { text: reply, optionalText: reply, select, confirm: reply };
  await runSteps(cli, { setup: await readSetup(cli), prompts, timeoutMs: TIMEOUT_MS });
  return { seen, asked, left };
};
