/** Wipes one disk of a loop host and reports it: a separate process, to be killed during the wipe. */
import { createLinuxHost } from '../src/host/linux/host.ts';
import { createRun } from '../src/host/linux/run.ts';

const [root = '', path = '', serial = '', device = ''] = process.argv.slice(2);
const host = createLinuxHost({ root, run: createRun(path) });
const disk = await host.disks.open({ serial, device });
process.stdout.write('opened\n');
process.stdout.write(`${JSON.stringify(await disk.wipe('blkdiscard'))}\n`);
