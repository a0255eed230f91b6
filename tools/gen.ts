/** `make gen`: writes every generated file. Unchanged files are not touched. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './gen/file.ts';
import { contractFiles, schemaFiles, workflowFiles } from './gen/index.ts';

/** The message explains a refused change of a workflow; a stack trace would hide it. */
const workflows = await workflowFiles().catch((err: Error) => {
  console.error(err.message);
  process.exit(1);
});

for (const { path, text } of [...(await contractFiles()), ...workflows, ...(await schemaFiles())]) {
  const file = join(ROOT, path);
  const now = await readFile(file, 'utf8').catch(() => undefined);
  if (now !== text) await writeFile(file, text);
  console.log(`${now === text ? 'same   ' : 'written'} ${path}`);
}
