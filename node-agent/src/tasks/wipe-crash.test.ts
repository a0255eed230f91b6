/** The agent is killed while a disk is being wiped: the tool ends with it, and the wipe is repeated from the start. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { requires } from '../../../tools/test/requires.ts';
import { makeLoopHost } from '../../test/loop-host.ts';
import { readBack } from './read-back.ts';

const AGENT = fileURLToPath(new URL('../../test/wipe-agent.ts', import.meta.url));
const MIB = 1024 ** 2;

const isAlive = (pid: number): boolean => {
  try {
    // A zombie process does nothing any more.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};
const until = async (is: () => boolean): Promise<void> => {
  while (!is()) await pause(20);
};

test('a wipe interrupted by a crash leaves nothing running and is repeated', {
  skip: requires('loop'),
  timeout: 120_000,
}, async (context) => {
  // The first call discards half of the disk and then hangs; the later ones are the real tool.
  const made = await makeLoopHost({
    slots: 1,
    disk_bytes: 64 * MIB,
    programs: {
      blkdiscard: `mark=$(dirname "$0")/began
        [ -e "$mark" ] && exec /usr/sbin/blkdiscard "$@"
        /usr/sbin/blkdiscard --force --length ${32 * MIB} /proc/self/fd/3
        echo $$ > "$mark.new"; mv "$mark.new" "$mark"; exec sleep 600`,
    },
  });
  context.after(made.close);
  const [slot] = made.slots;
  assert.ok(slot);
  const { serial, device } = slot.disk;
  for (const at of [0, 40 * MIB, 63 * MIB]) await made.disks.write(serial, at, Buffer.alloc(MIB, 0xa5));
  const mark = join(made.disks.root, 'bin/began');
  const agent = spawn(process.execPath, [AGENT, made.disks.root, made.disks.path, serial, device], { stdio: 'ignore' });
  const ended = once(agent, 'exit');
  await until(() => existsSync(mark));
  const tool = Number(readFileSync(mark, 'utf8'));
  assert.ok(isAlive(tool));
  agent.kill('SIGKILL');
  await ended;
  await until(() => !isAlive(tool));

  const disk = await made.host.disks.open(slot.disk);
  assert.ok((await readBack(disk)).bytes_not_erased > 0, 'half a wipe is none');
  assert.deepEqual(await disk.wipe('blkdiscard'), { command_status: 0 });
  const found = await readBack(disk);
  assert.deepEqual([found.bytes_not_erased, found.signatures_left], [0, []]);
  await disk.close();
});
