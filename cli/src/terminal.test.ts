/** The output on a terminal. util-linux's `script` provides a real one. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { requires } from '../../tools/test/requires.ts';
import { startApi } from '../golden/api.ts';
import { ids } from '../golden/fixtures.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

type Run = { screen: string; code: number | null; requests: string[] };

/** Types `answer` once `question` is on the screen. */
const atTerminal = async (
  words: string,
  more: { dialogue?: { question: string; answer: string }; env?: Record<string, string> } = {},
): Promise<Run> => {
  const api = await startApi();
  const home = await mkdtemp(join(tmpdir(), 'gpuaas-terminal-'));
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    XDG_CONFIG_HOME: home,
    TERM: 'xterm',
    GPUAAS_URL: api.url,
    GPUAAS_TOKEN: 'gp_test',
    ...more.env,
  };
  const { dialogue } = more;
  try {
    const child = spawn(
      'script',
      ['-qec', `stty columns 80; exec '${process.execPath}' '${MAIN}' ${words}`, '/dev/null'],
      { env },
    );
    let screen = '';
    let answered = false;
    child.stdout.on('data', (chunk) => {
      screen += chunk;
      if (dialogue === undefined || answered || !screen.includes(dialogue.question)) return;
      answered = true;
      child.stdin.write(dialogue.answer);
    });
    const code = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
    return { screen, code, requests: api.requests };
  } finally {
    api.close();
    await rm(home, { recursive: true, force: true });
  }
};

test('a terminal gets a table with a bold header, not JSON', { skip: requires('script') }, async () => {
  const { screen, code } = await atTerminal('region list');
  assert.equal(code, 0);
  const header = '\u001b[1mREGION      NAME   WIPE LEVEL  FABRIC  ENABLED\u001b[22m\r\n';
  assert.ok(screen.includes(`${header}eu-north-1  North  purge       none    yes\r\n`), screen);
});

test('NO_COLOR turns color off', { skip: requires('script') }, async () => {
  const { screen } = await atTerminal('region list', { env: { NO_COLOR: '1' } });
  assert.match(screen, /REGION +NAME +WIPE LEVEL +FABRIC +ENABLED/);
  assert.ok(!screen.includes('\u001b['));
});

test('a destructive command asks for confirmation on a terminal and stops at "no"', {
  skip: requires('script'),
}, async () => {
  const question = 'Delete project';
  const refused = await atTerminal(`project delete ${ids.project}`, { dialogue: { question, answer: 'n' } });
  assert.equal(refused.code, 1);
  assert.match(refused.screen, /No changes were made/);
  assert.deepEqual(refused.requests, []);
  const agreed = await atTerminal(`project delete ${ids.project}`, { dialogue: { question, answer: 'y' } });
  assert.equal(agreed.code, 0);
  assert.deepEqual(agreed.requests, [`DELETE /api/v1/projects/${ids.project}`]);
});
