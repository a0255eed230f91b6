/** Ctrl-C during a launch: the ID of the billed allocation is always printed. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { requested } from '../golden/fixtures-allocation.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
const ANSWER_DELAY_MS = 300;

test('Ctrl-C before the response to a launch still prints the ID and the release command', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'gpuaas-interrupt-'));
  let child: ChildProcess | undefined;
  const server = createServer((req, res) => {
    req.resume().once('end', () => {
      // The signal is sent well before the response, which still arrives.
      child?.kill('SIGINT');
      setTimeout(() => {
        res.writeHead(202, { 'content-type': 'application/json' });
        res.end(JSON.stringify(requested));
      }, ANSWER_DELAY_MS);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await rm(home, { recursive: true, force: true });
  });
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    XDG_CONFIG_HOME: home,
    GPUAAS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    GPUAAS_TOKEN: 'gp_test',
    GPUAAS_PROJECT: requested.project_id,
  };
  const words = 'launch train --sku h200-sxm-slice --region eu-north-1 --gpus 4 --no-json'.split(' ');
  child = spawn(process.execPath, [MAIN, ...words], { env, stdio: 'pipe' });
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child?.once('close', resolve));
  assert.equal(code, 130, said);
  assert.match(said, new RegExp(`Launching train \\(${requested.id}\\)`));
  assert.match(said, new RegExp(`gpuaas allocation release ${requested.id}\n`));
});
