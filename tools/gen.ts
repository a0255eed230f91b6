/** `make gen`: writes every generated file. Files that are already right are left alone. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './gen/file.ts';
import { contractFiles, schemaFiles, workflowFiles } from './gen/index.ts';

/** A refused change of a workflow is explained by its message; a stack trace would bury it. */
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
